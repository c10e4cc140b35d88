package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.build.BuildGraph;
import dev.granary.cache.build.StackEdge;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A stack that ends anywhere in a call leaves nothing behind: the key can be asked for, sizes are right, nobody hangs. */
class ErrorsAtAnyDepthTest {
    private static final Duration GENEROUS = Duration.ofSeconds(60);
    private static final int LEVELS = 300;
    private static final int ROUNDS = Integer.getInteger("granary.edge.rounds", 8);

    /** Every key works, the capacity holds, and nothing is under way. */
    private static void assertSound(PrimitiveCache<Integer, String> cache, int keys) {
        assertTimeoutPreemptively(GENEROUS, () -> {
            for (int key = 0; key < keys; key++) {
                assertEquals("v" + key, cache.get(key, k -> "v" + k));
            }
            assertTrue(cache.size() <= cache.capacity(), () -> "size " + cache.size());
            long hits = cache.hits();
            for (int key = keys; key < keys + cache.capacity(); key++) {
                assertEquals("v" + key, cache.get(key, k -> "v" + k));
                assertEquals("v" + key, cache.get(key, _ -> "another"));
            }
            assertEquals(cache.capacity(), cache.hits() - hits);
            assertEquals(cache.capacity(), cache.size());
            assertEquals(0, cache.underWay());
            assertEquals(0, BuildGraph.PROCESS.waiting());
        });
    }

    @ParameterizedTest
    @EnumSource(PrimitiveCachePolicy.class)
    @DisplayName("M1 a call at each depth from the end of the stack, in a full cache that evicts: all keys work afterwards")
    void primitives(PrimitiveCachePolicy policy) throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(4, policy);
            for (int key = -70; key < 0; key++) {
                cache.get(key, k -> "v" + k);
            }
            StackEdge.run(LEVELS, round, level -> cache.get(level, k -> "v".concat(Integer.toString(k))));
            assertSound(cache, policy == PrimitiveCachePolicy.LRU ? LEVELS : 4);
        }
    }

    @RepeatedTest(4)
    @DisplayName("M1 builders that nest without end: all keys work afterwards")
    void endlesslyNested(RepetitionInfo info) throws InterruptedException {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(64);
        AtomicInteger deepest = new AtomicInteger();
        for (int round = 0; round < 2 * ROUNDS; round++) {
            int first = round * 10_000;
            Thread thread = new Thread(null, () -> assertThrows(StackOverflowError.class, () -> nest(cache, first, deepest)), "deep",
                    (256L << 10) + (info.getCurrentRepetition() * 2L * ROUNDS + round) * 80);
            thread.start();
            thread.join();
            assertTimeoutPreemptively(GENEROUS, () -> {
                for (int key = Math.max(first, deepest.get() - 100); key < deepest.get() + 3; key++) {
                    assertEquals("f", cache.get(key, _ -> "f"));
                }
                assertEquals(0, cache.underWay());
            });
        }
    }

    private static String nest(PrimitiveCache<Integer, String> cache, int key, AtomicInteger deepest) {
        deepest.set(key);
        return cache.get(key, k -> nest(cache, k + 1, deepest));
    }

    @RepeatedTest(2)
    @DisplayName("M1 a runtime-parameters cache at each depth from the end of the stack goes on working, and closes each value once")
    void runtimeParameters() throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            AtomicInteger live = new AtomicInteger();
            try (RuntimeParametersCache cache = new RuntimeParametersCache(3)) {
                var partition = cache.partition(Integer.class, Native.class);
                partition.getOrCreate(-1, _ -> new Native(live));
                StackEdge.run(LEVELS, round, level -> partition.getOrCreate(level, _ -> new Native(live)));
                for (int key = 0; key < LEVELS; key++) {
                    partition.getOrCreate(key, _ -> new Native(live));
                    assertEquals(RuntimeParametersCache.Outcome.HIT, partition.getOrCreate(key, _ -> new Native(live)).outcome());
                }
                assertEquals(3, partition.size());
                assertEquals(3, live.get());
            }
            assertEquals(0, live.get());
        }
    }

    /** Something that has to be closed once. */
    static final class Native implements AutoCloseable {
        private final AtomicInteger live;
        private boolean isClosed;

        Native(AtomicInteger live) {
            this.live = live;
            live.incrementAndGet();
        }

        @Override
        public void close() {
            if (isClosed) {
                throw new AssertionError("closed twice");
            }
            isClosed = true;
            live.decrementAndGet();
        }
    }
}
