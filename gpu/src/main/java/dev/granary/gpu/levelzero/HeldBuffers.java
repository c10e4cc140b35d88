package dev.granary.gpu.levelzero;

import dev.granary.gpu.lifetime.Releases;
import dev.granary.gpu.lifetime.SharedHandle;

import java.util.ArrayList;
import java.util.List;

/**
 * Buffers of one engine in use, whose memory is kept even if another thread closes them. Not
 * thread-safe.
 */
final class HeldBuffers implements AutoCloseable {
    private final LevelZeroEngine engine;
    private final List<SharedHandle> memory = new ArrayList<>();

    HeldBuffers(LevelZeroEngine engine) {
        this.engine = engine;
    }

    /**
     * Holds a buffer and returns its address. Requires a lease of the engine.
     *
     * @throws IllegalArgumentException if the buffer belongs to another engine
     * @throws IllegalStateException if it is closed
     */
    long addressOf(LevelZeroBuffer buffer) {
        memory.add(buffer.retainIn(engine));
        return buffer.address();
    }

    @Override
    public void close() {
        List<Runnable> releases = new ArrayList<>(memory.size());
        memory.forEach(each -> releases.add(each::release));
        memory.clear();
        Releases.perform(releases);
    }
}
