package dev.granary.gpu.levelzero;

import dev.granary.gpu.lifetime.NativeHandle;

import java.util.ArrayList;
import java.util.List;

/**
 * The buffers that a launch uses, held until it has completed: another thread may close them. Not
 * thread-safe.
 */
final class LaunchArguments implements AutoCloseable {
    private final LevelZeroEngine engine;
    private final List<NativeHandle.Hold> held = new ArrayList<>();

    LaunchArguments(LevelZeroEngine engine) {
        this.engine = engine;
    }

    /**
     * Holds a buffer and returns its address.
     *
     * @throws IllegalArgumentException if the buffer belongs to another engine
     * @throws IllegalStateException if it is closed
     */
    long addressOf(LevelZeroBuffer buffer) {
        NativeHandle.Hold hold = buffer.holdIn(engine);
        held.add(hold);
        return buffer.address(hold);
    }

    @Override
    public void close() {
        held.forEach(NativeHandle.Hold::close);
        held.clear();
    }
}
