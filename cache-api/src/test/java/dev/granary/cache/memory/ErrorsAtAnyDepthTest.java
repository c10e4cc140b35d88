package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.support.WaitGraph;
import dev.granary.testing.Await;
import dev.granary.testing.TestRuns;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/** Tests of stack overflows in a call: keys stay usable, sizes correct, and no thread hangs. */
class ErrorsAtAnyDepthTest {
    private static final Duration GENEROUS = Duration.ofMinutes(10);
    private static final int ROUNDS = TestRuns.count(2);

    @RepeatedTest(4)
    @DisplayName("builders with endless recursion: all keys are usable afterwards")
    void endlesslyNested(RepetitionInfo info) throws InterruptedException {
        PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(64);
        AtomicInteger deepest = new AtomicInteger();
        for (int round = 0; round < 2 * ROUNDS; round++) {
            int first = round * 10_000;
            Thread thread = new Thread(
                    null,
                    () -> assertThrows(StackOverflowError.class, () -> nest(cache, first, deepest)),
                    "deep",
                    (256L << 10) + (info.getCurrentRepetition() * 2L * ROUNDS + round) * 80);
            thread.start();
            thread.join();
            assertTimeoutPreemptively(GENEROUS, () -> {
                for (int key = Math.max(first, deepest.get() - 100);
                        key < deepest.get() + 3;
                        key++) {
                    assertEquals("f", cache.get(key, _ -> "f"));
                }
                assertEquals(0, cache.inProgress());
            });
        }
    }

    private static String nest(
            PrimitiveCache<Integer, String> cache, int key, AtomicInteger deepest) {
        deepest.set(key);
        return cache.get(key, k -> nest(cache, k + 1, deepest));
    }

    /** A key whose hash code overflows the stack from its n-th call on until it is repaired. */
    private static final class Brittle {
        private int callsLeft;

        Brittle(int callsLeft) {
            this.callsLeft = callsLeft;
        }

        void repair() {
            callsLeft = Integer.MAX_VALUE;
        }

        @Override
        public int hashCode() {
            if (callsLeft-- <= 0) {
                callsLeft = 0;
                throw new StackOverflowError("on purpose");
            }
            return 7;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return this == other;
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6})
    @DisplayName("if even the cleanup overflows: waiting threads are released, the key is usable at"
            + " once, and the next miss completes the cleanup")
    void failingCleanup(int calls) throws Exception {
        for (boolean fails : new boolean[] {false, true}) {
            PrimitiveCache<Object, String> cache = new PrimitiveCache<>(4);
            cache.get("other", _ -> "o");
            Brittle key = new Brittle(calls);
            AtomicReference<@Nullable Thread> waiter = new AtomicReference<>();
            AtomicReference<@Nullable Object> waiterOutcome = new AtomicReference<>();
            try {
                cache.get(key, _ -> {
                    int left = key.callsLeft;
                    key.repair();
                    waiter.set(Thread.ofPlatform()
                            .start(() -> waiterOutcome.set(
                                    outcome(() -> cache.get(key, _ -> "of the waiter")))));
                    Await.holds(() -> WaitGraph.PROCESS.waiting() == 1);
                    key.callsLeft = left;
                    if (fails) {
                        throw new StackOverflowError("of the builder");
                    }
                    return "built";
                });
            } catch (StackOverflowError e) {
                assertTrue(e.getMessage() != null);
            }
            key.repair();
            Thread waiting = waiter.get();
            assertTimeoutPreemptively(GENEROUS, () -> {
                if (waiting != null) {
                    waiting.join();
                    assertTrue(
                            "built".equals(waiterOutcome.get())
                                    || waiterOutcome.get() instanceof StackOverflowError,
                            () -> "outcome " + waiterOutcome.get());
                }
                assertEquals("p", cache.get("probe", _ -> "p"));
                assertEquals(0, cache.inProgress());
                String now = cache.get(key, _ -> "anew");
                assertTrue(now.equals("anew") || now.equals("built"), now);
                assertEquals(now, cache.get(key, _ -> "again"));
                assertEquals("o", cache.get("other", _ -> "lost"));
                assertEquals(3, cache.size());
            });
        }
    }

    @Test
    @DisplayName("if its own call cannot remove a failed build, its failure affects no other"
            + " call, and the next of the key builds")
    void removedByTheNext() {
        PrimitiveCache<Object, String> cache = new PrimitiveCache<>(4);
        Brittle key = new Brittle(Integer.MAX_VALUE);
        IllegalStateException failure = new IllegalStateException("of the builder");
        assertSame(
                failure,
                assertThrows(
                        IllegalStateException.class,
                        () -> cache.get(key, _ -> {
                            key.callsLeft = 0;
                            throw failure;
                        })));
        assertEquals("n", cache.get("next", _ -> "n"));
        key.repair();
        assertEquals("anew", cache.get(key, _ -> "anew"));
        assertEquals("n", cache.get("next", _ -> "n"));
        assertEquals(0, cache.inProgress());
    }

    private static Object outcome(Supplier<Object> call) {
        try {
            return call.get();
        } catch (StackOverflowError e) {
            return e;
        }
    }
}
