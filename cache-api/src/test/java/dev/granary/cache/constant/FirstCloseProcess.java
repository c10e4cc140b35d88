package dev.granary.cache.constant;

import dev.granary.cache.build.StackEdge;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;
import dev.granary.cache.constant.config.ConstantLimits;
import dev.granary.cache.constant.config.EngineKind;

import java.util.ArrayList;
import java.util.List;

/**
 * A process that frees constants near the end of a stack before it has freed any elsewhere. Prints
 * the number of leaked pieces.
 */
final class FirstCloseProcess {
    private static final int LEVELS = 300;

    private FirstCloseProcess() {}

    public static void main(String[] arguments) throws InterruptedException {
        FakeDeviceMemory memory = new FakeDeviceMemory();
        ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);
        caches.setCapacity(EngineKind.GPU, 0);
        List<ConstantHold<Piece>> held = new ArrayList<>();
        for (int level = 0; level < LEVELS; level++) {
            held.add(memory.take(caches.of(EngineKind.GPU, 0), "k" + level, 1));
        }
        StackEdge.run(LEVELS, 0, level -> held.get(level).close());
        held.forEach(ConstantHold::close);
        System.out.println(memory.live());
    }
}
