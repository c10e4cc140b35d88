package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;

import dev.granary.cache.constant.config.ConstantLimits;
import dev.granary.cache.constant.config.ConstantPolicy;
import dev.granary.cache.constant.config.EngineKind;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** A process that uses constants for the first time after it has printed a line. */
final class FirstUseProcess {
    static final String MARK = "the cache exists";

    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private final AtomicLong clock = new AtomicLong();
    private final AtomicLong cost = new AtomicLong();

    private FirstUseProcess() {}

    public static void main(String[] arguments) throws Exception {
        FirstUseProcess process = new FirstUseProcess();
        ConstantTensorCaches caches =
                new ConstantTensorCaches(ConstantLimits.NONE, process.clock::get, Duration.ZERO);
        caches.setCapacity(EngineKind.GPU, 1, ConstantPolicy.valueOf(arguments[0]));
        ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);
        process.memory.allocate("", MEGABYTE).close();
        System.out.println(MARK);
        process.use(cache, "a");
        process.use(cache, "a");
        process.use(cache, "b");
        cache.removeIfExist(key("b"));
        System.out.println("evicted " + cache.statistics().evicted());
    }

    /** Gets a constant that costs more than each one before it, so that any policy evicts. */
    private void use(ConstantTensorCache cache, String name) {
        cache.get(key(name), MEGABYTE, () -> {
                    clock.addAndGet(cost.incrementAndGet());
                    return memory.allocate(name, MEGABYTE);
                })
                .close();
    }
}
