package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;
import dev.granary.testing.Await;
import dev.granary.testing.Race;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Concurrency tests of one cache. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConstantThreadsTest {
    private static final int THREADS = 6;
    private static final int STEPS = 10_000;
    private static final int KEYS = 10;
    private static final long LARGEST = 4;
    private static final List<ConstantPolicy> POLICIES = List.of(ConstantPolicy.values());

    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private final ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);
    private final ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);

    @Test
    @DisplayName("1,000 threads on one absent key: one computes it, all share it, it is freed once")
    void thousand() throws Exception {
        AtomicInteger makings = new AtomicInteger();
        Callable<ConstantHold<Piece>> lookup = () -> cache.get(key("k"), MEGABYTE, () -> {
            makings.incrementAndGet();
            Await.holds(() -> cache.waiting(key("k")) >= 500);
            return memory.allocate("k", MEGABYTE);
        });
        List<ConstantHold<Piece>> all = Race.run(Collections.nCopies(1000, lookup));
        assertEquals(1, makings.get());
        assertEquals(1, all.stream().map(ConstantHold::buffer).distinct().count());
        assertEquals(999, cache.statistics().reused());
        caches.close();
        all.subList(0, 999).forEach(ConstantHold::close);
        assertEquals(1, memory.live());
        all.getLast().close();
        memory.assertAllFreed();
    }

    @Test
    @DisplayName("random lookups, holds, removals, resizes and flushes: never freed in use, never"
            + " beyond the budget, no leak")
    void random() throws Exception {
        caches.setLimit(EngineKind.GPU, new Limit(1, ConstantPolicy.LRU));
        SplittableRandom seeds = TestSeed.random(getClass().getName());
        AtomicInteger notified = new AtomicInteger();
        ConcurrentLinkedQueue<ConstantHold<Piece>> holders = new ConcurrentLinkedQueue<>();
        List<Callable<Boolean>> work = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
            SplittableRandom random = seeds.split();
            work.add(() -> {
                for (int step = 0; step < STEPS; step++) {
                    step(random, holders, notified);
                }
                return true;
            });
        }
        Race.run(work);
        holders.forEach(ConstantHold::close);
        ConstantTensorCache.Statistics end = cache.statistics();
        assertEquals(0, end.promisedBytes());
        assertEquals(memory.liveBytes(), end.bytes(), "exactly the cached tensors are alive");
        assertEquals(memory.live(), end.tensors());
        assertEquals(memory.allocated(), end.made());
        assertTrue(
                end.reused() > 1000 && end.evicted() > 100 && notified.get() > 100,
                () -> end + " " + notified);
        caches.close();
        memory.assertAllFreed();
    }

    private void step(
            SplittableRandom random,
            ConcurrentLinkedQueue<ConstantHold<Piece>> holders,
            AtomicInteger notified) {
        int number = random.nextInt(KEYS);
        long bytes = number % LARGEST + 1;
        switch (random.nextInt(400)) {
            case 0 -> caches.setLimit(EngineKind.GPU, new Limit(0, ConstantPolicy.LRU));
            case 1, 2, 3, 4 ->
                caches.setLimit(
                        EngineKind.GPU,
                        new Limit(1, POLICIES.get(random.nextInt(POLICIES.size()))));
            case 5 -> cache.removeContext(FakeDeviceMemory.CONTEXT);
            default -> {}
        }
        if (random.nextInt(20) == 0) {
            cache.removeIfExist(key(number));
        }
        if (random.nextInt(20) == 0) {
            ConstantHold<Piece> old = holders.poll();
            if (old != null) {
                assertFalse(old.buffer().isFreed());
                old.close();
            }
        }
        long size = bytes * MEGABYTE / 8;
        ConstantHold<Piece> constant;
        try {
            boolean fails = random.nextInt(50) == 0;
            constant = cache.get(key(number), size, () -> {
                if (fails) {
                    throw new IllegalStateException("at random");
                }
                return memory.allocate(number, size);
            });
        } catch (IllegalStateException e) {
            assertEquals("at random", e.getMessage());
            return;
        }
        assertEquals(number, constant.buffer().content);
        assertFalse(constant.buffer().isFreed());
        ConstantTensorCache.Statistics statistics = cache.statistics();
        // None of the limits is higher.
        assertTrue(
                statistics.bytes() + statistics.promisedBytes() <= MEGABYTE, statistics::toString);
        switch (random.nextInt(3)) {
            case 0 -> constant.close();
            case 1 -> holders.add(constant);
            default ->
                constant.onEviction(() -> {
                    assertFalse(constant.buffer().isFreed());
                    notified.incrementAndGet();
                    constant.close();
                });
        }
    }
}
