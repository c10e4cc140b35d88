package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.build.BuildCycleDetector;
import dev.granary.cache.build.StackEdge;
import dev.granary.testing.Await;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Tests of stack overflows at any point of a call: keys stay usable, sizes correct, and no thread
 * hangs.
 */
class ErrorsAtAnyDepthTest {
    private static final Duration GENEROUS = Duration.ofMinutes(10);
    private static final int LEVELS = 300;
    private static final int ROUNDS = Integer.getInteger("granary.edge.rounds", 4);

    /**
     * Checks that every key is usable, the capacity is not exceeded, and no build is in progress.
     */
    private static void assertSound(
            PrimitiveCache<Integer, String> cache, int keys, PrimitiveCachePolicy policy) {
        assertTimeoutPreemptively(GENEROUS, () -> {
            for (int key = 0; key < keys; key++) {
                assertEquals("v" + key, cache.get(key, k -> "v" + k));
            }
            assertTrue(cache.size() <= cache.capacity(), () -> "size " + cache.size());
            assertEquals(0, cache.inProgress());
            assertEquals(0, BuildCycleDetector.PROCESS.waiting());
            if (policy == PrimitiveCachePolicy.W_TINY_LFU) {
                return; // new values need not be cached
            }
            long hits = cache.hits();
            for (int key = keys; key < keys + cache.capacity(); key++) {
                assertEquals("v" + key, cache.get(key, k -> "v" + k));
                assertEquals("v" + key, cache.get(key, _ -> "another"));
            }
            assertEquals(cache.capacity(), cache.hits() - hits);
            assertEquals(cache.capacity(), cache.size());
        });
    }

    @ParameterizedTest
    @EnumSource(PrimitiveCachePolicy.class)
    @DisplayName(
            "M1 a call at each depth from the end of the stack, in a full cache that evicts: all"
                    + " keys are usable afterwards")
    void primitives(PrimitiveCachePolicy policy) throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            PrimitiveCache<Integer, String> cache = new PrimitiveCache<>(4, policy);
            for (int key = -70; key < 0; key++) {
                cache.get(key, k -> "v" + k);
            }
            StackEdge.run(
                    LEVELS, round, level -> cache.get(level, k -> "v".concat(Integer.toString(k))));
            assertSound(cache, LEVELS, policy);
        }
    }

    @RepeatedTest(4)
    @DisplayName("M1 builders with endless recursion: all keys are usable afterwards")
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

    @RepeatedTest(2)
    @DisplayName(
            "M1 a runtime-parameters cache stays usable after calls at each depth from the end of"
                    + " the stack, and closes each value once")
    void runtimeParameters() throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            AtomicInteger live = new AtomicInteger();
            try (RuntimeParametersCache cache = new RuntimeParametersCache(3)) {
                var partition = cache.partition(Integer.class, Native.class);
                partition.getOrCreate(-1, _ -> new Native(live));
                StackEdge.run(
                        LEVELS,
                        round,
                        level -> partition.getOrCreate(level, _ -> new Native(live)));
                for (int key = 0; key < LEVELS; key++) {
                    partition.getOrCreate(key, _ -> new Native(live));
                    assertEquals(
                            RuntimeParametersCache.Outcome.HIT,
                            partition.getOrCreate(key, _ -> new Native(live)).outcome());
                }
                assertEquals(3, partition.size());
                assertEquals(3, live.get());
            }
            assertEquals(0, live.get());
        }
    }

    /** A key whose hash code overflows the stack from its n-th call on until it is repaired. */
    private static final class Brittle {
        private int callsLeft;
        private boolean isRepairedByItself; // overflows only once

        Brittle(int callsLeft) {
            this.callsLeft = callsLeft;
        }

        void repair() {
            callsLeft = Integer.MAX_VALUE;
        }

        @Override
        public int hashCode() {
            if (callsLeft-- <= 0) {
                callsLeft = isRepairedByItself ? Integer.MAX_VALUE : 0;
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
    @DisplayName(
            "M1 if even the cleanup overflows: waiting threads are released, the key is usable at"
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
                    Await.holds(() -> BuildCycleDetector.PROCESS.waiting() == 1);
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
    @DisplayName("M1 if neither its own call nor the next can remove an ended build, its failure"
            + " affects no other call")
    void removedByTheThird() {
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
        assertThrows(StackOverflowError.class, () -> cache.get("next", _ -> "n"));
        key.repair();
        assertEquals("anew", cache.get(key, _ -> "anew"));
        assertEquals("n", cache.get("next", _ -> "n"));
        assertEquals(0, cache.inProgress());
    }

    @Test
    @DisplayName(
            "M1 a thread that fails to take the turn does not hold it: it takes the turn at its"
                    + " next use")
    void turnThatFails() {
        LogicalClock clock = new LogicalClock();
        long[][] table = new long[1][];
        AccessStripe stripe = new AccessStripe(new AccessStripe(table, 0));
        long id = Thread.currentThread().threadId();
        LogicalClock.Timekeeper failing = new Time(() -> {
            throw new StackOverflowError("on purpose");
        });
        LogicalClock.Timekeeper previous = clock.current();
        clock.pass(previous, new Time(() -> {
            // another holder takes the turn from the stripe
            clock.pass(clock.current(), failing);
            return 0;
        }));
        assertThrows(StackOverflowError.class, () -> stripe.recordUse(0, clock));
        assertFalse(
                AccessStripe.record(AccessStripe.cellsOf(table, id), id, 0),
                "another holds the turn");
        clock.pass(failing, previous);
        stripe.recordUse(0, clock);
        assertSame(stripe, clock.current());
        assertTrue(AccessStripe.record(AccessStripe.cellsOf(table, id), id, 0));
        assertEquals(2, stripe.hits());
    }

    @Test
    @DisplayName(
            "M1 alternating at each depth from the end of the stack: no counted use is lost, and"
                    + " counting does not hang")
    void turnsAtAnyDepth() throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            LogicalClock clock = new LogicalClock();
            AccessStripe unused = new AccessStripe(new long[1][], 0);
            AtomicReference<@Nullable AccessStripe> owned = new AtomicReference<>();
            AtomicInteger uses = new AtomicInteger();
            LogicalClock.Timekeeper other = new Time(() -> 0);
            StackEdge.run(LEVELS, round, level -> {
                AccessStripe stripe = owned.get();
                if (stripe == null) {
                    stripe = new AccessStripe(unused);
                    owned.set(stripe);
                }
                clock.pass(clock.current(), other);
                stripe.recordUse(0, clock);
                uses.incrementAndGet();
            });
            assertTrue(uses.get() > 0);
            assertTimeoutPreemptively(
                    GENEROUS,
                    () -> assertTrue(Objects.requireNonNull(owned.get()).hits() >= uses.get()));
        }
    }

    /** Another timekeeper. */
    private record Time(LongSupplier now) implements LogicalClock.Timekeeper {
        @Override
        public long time() {
            return now.getAsLong();
        }

        @Override
        public void turnLost() {}
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6})
    @DisplayName("M1 a runtime-parameters cache repairs an incomplete change at the next call, and"
            + " closes each value once")
    void incompleteRuntimeParameters(int calls) {
        AtomicInteger live = new AtomicInteger();
        try (RuntimeParametersCache cache = new RuntimeParametersCache(3)) {
            var partition = cache.partition(Object.class, Native.class);
            partition.getOrCreate("first", _ -> new Native(live));
            partition.getOrCreate("second", _ -> new Native(live));
            Brittle key = new Brittle(Integer.MAX_VALUE);
            key.isRepairedByItself = true;
            try {
                partition.getOrCreate(key, _ -> {
                    key.callsLeft = calls;
                    return new Native(live);
                });
            } catch (StackOverflowError e) {
                assertEquals("on purpose", e.getMessage());
            }
            key.repair();
            for (Object next : List.of("third", "first")) {
                partition.getOrCreate(next, _ -> new Native(live));
            }
            assertEquals(
                    RuntimeParametersCache.Outcome.HIT,
                    partition.getOrCreate("first", _ -> new Native(live)).outcome());
            for (int i = 0; i < 3; i++) {
                partition.getOrCreate(i, _ -> new Native(live));
            }
            for (int i = 0; i < 3; i++) {
                assertEquals(
                        RuntimeParametersCache.Outcome.HIT,
                        partition.getOrCreate(i, _ -> new Native(live)).outcome());
            }
            assertEquals(3, partition.size());
            assertEquals(3, live.get());
        }
        assertEquals(0, live.get());
    }

    private static Object outcome(Supplier<Object> call) {
        try {
            return call.get();
        } catch (StackOverflowError e) {
            return e;
        }
    }

    /** A resource that must be closed once. */
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
