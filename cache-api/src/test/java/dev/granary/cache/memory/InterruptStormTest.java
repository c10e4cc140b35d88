package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantHold;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantPolicy;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.support.WaitGraph;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tests of interrupts at any moment: results do not change, the interrupt status is kept, and
 * nothing leaks.
 */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InterruptStormTest {
    private static final int THREADS = 6;
    private static final int CALLS = 400;
    private static final int KEYS = 12;

    private interface Call {
        void run(SplittableRandom random) throws Exception;
    }

    /** Runs calls in threads that interrupt themselves and are interrupted. */
    private static void storm(SplittableRandom seeds, Call call) throws Exception {
        List<Thread> callers = new ArrayList<>();
        try (ExecutorService pool = Executors.newFixedThreadPool(THREADS)) {
            List<Future<?>> all = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                SplittableRandom random = seeds.split();
                all.add(pool.submit(() -> {
                    synchronized (callers) {
                        callers.add(Thread.currentThread());
                    }
                    for (int i = 0; i < CALLS; i++) {
                        boolean isMine = random.nextInt(3) == 0;
                        if (isMine) {
                            Thread.currentThread().interrupt();
                        }
                        call.run(random);
                        if (isMine) {
                            assertTrue(Thread.interrupted(), "the status is kept");
                        }
                    }
                    return null;
                }));
            }
            SplittableRandom random = seeds.split();
            while (all.stream().anyMatch(one -> !one.isDone())) {
                synchronized (callers) {
                    if (!callers.isEmpty()) {
                        callers.get(random.nextInt(callers.size())).interrupt();
                    }
                }
                Thread.onSpinWait();
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertEquals(0, WaitGraph.PROCESS.waiting());
    }

    @Test
    @DisplayName(
            "Many interrupts on the primitive cache: each call returns its value, and the cache"
                    + " stays usable")
    void primitives() throws Exception {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(KEYS / 3);
        storm(TestSeed.random("InterruptStormTest"), random -> {
            int key = random.nextInt(KEYS);
            assertEquals("v" + key, cache.get(key, k -> {
                for (int i = 0; i < 20; i++) {
                    Thread.onSpinWait();
                }
                return "v" + k;
            }));
        });
        assertEquals(0, cache.inProgress());
        assertTrue(cache.size() <= KEYS / 3);
        for (int key = 0; key < KEYS; key++) {
            assertEquals("v" + key, cache.get(key, k -> "v" + k));
        }
    }

    /** Memory that counts its live pieces. */
    private record Piece(AtomicInteger live, int key) implements AutoCloseable {
        @Override
        public void close() {
            live.decrementAndGet();
        }
    }

    @ParameterizedTest
    @EnumSource(ConstantPolicy.class)
    @DisplayName(
            "Many interrupts on constants: each call returns its tensor, no byte stays promised,"
                    + " all memory is freed")
    void constants(ConstantPolicy policy) throws Exception {
        AtomicInteger live = new AtomicInteger();
        try (ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE)) {
            caches.setLimit(EngineKind.CPU, new Limit(KEYS / 3, policy));
            ConstantTensorCache cache = caches.of(EngineKind.CPU, 0);
            storm(TestSeed.random("InterruptStormTest " + policy), random -> {
                int number = random.nextInt(KEYS);
                try (ConstantHold<Piece> constant = cache.get(key(number), 1 << 20, () -> {
                    live.incrementAndGet();
                    for (int i = 0; i < 20; i++) {
                        Thread.onSpinWait();
                    }
                    return new Piece(live, number);
                })) {
                    assertEquals(number, constant.buffer().key);
                }
            });
            assertEquals(0, cache.statistics().promisedBytes());
            assertEquals(cache.statistics().tensors(), live.get());
            cache.get(key(-1), 1, () -> new Piece(new AtomicInteger(), -1)).close();
            assertFalse(Thread.currentThread().isInterrupted());
        }
        assertEquals(0, live.get());
    }

    private static ConstantTensorCache.Key<Piece> key(int number) {
        return new ConstantTensorCache.Key<>(Piece.class, "test", "context", number);
    }
}
