package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;
import dev.granary.testing.TestSeed;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** Random histories of one cache, compared with {@link ConstantModel} after every step. */
class ConstantHistoriesTest {
    private static final int HISTORIES = 40;
    private static final int STEPS = 1_000;
    private static final int KEYS = 12;
    private static final List<ConstantPolicy> POLICIES = List.of(ConstantPolicy.values());

    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private final SplittableRandom random = TestSeed.random(getClass().getName());
    private long now;
    private ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE);
    private ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);
    private ConstantModel model = new ConstantModel();
    private final List<Held> held = new ArrayList<>();
    private final List<Open> open = new ArrayList<>();
    private final List<Observed> observed = new ArrayList<>();
    private int callbacks;
    private int expectedCallbacks;

    /** An open hold; {@code entry} is its origin, or null if it was never cached. */
    private record Held(ConstantHold<Piece> constant, ConstantModel.@Nullable Entry entry) {}

    /** A promise that has not ended; {@code entry} is null if it is private to its owner. */
    private record Open(
            ConstantTensorCache.Key<Piece> key,
            ConstantPromise<Piece> promise,
            ConstantModel.@Nullable Entry entry,
            long bytes,
            long start) {}

    @Test
    @DisplayName("40 random histories of 1,000 steps: contents, sizes and reservations equal the"
            + " model's, memory is freed exactly once after use")
    void histories() {
        int hits = 0;
        for (int history = 0; history < HISTORIES; history++) {
            now = 0;
            caches = new ConstantTensorCaches(ConstantLimits.NONE, () -> now, Duration.ofDays(1));
            cache = caches.of(EngineKind.GPU, 0);
            model = new ConstantModel();
            for (int step = 0; step < STEPS; step++) {
                step();
                compare(history, step);
            }
            hits += (int) cache.statistics().reused();
            open.forEach(promised -> promised.promise.close());
            open.clear();
            held.forEach(handle -> handle.constant.close());
            held.clear();
            observed.clear();
            assertEquals(
                    model.cachedBytes(),
                    memory.liveBytes(),
                    "exactly the cached tensors are alive");
            caches.close();
            memory.assertAllFreed();
        }
        assertEquals(expectedCallbacks, callbacks);
        assertTrue(
                hits > HISTORIES * STEPS / 50 && callbacks > HISTORIES,
                "the histories had effects: " + hits + " hits, " + callbacks + " callbacks");
    }

    private void step() {
        now += random.nextInt(100);
        switch (random.nextInt(16)) {
            case 0, 1, 2, 3, 4, 5, 6 -> lookup();
            case 7, 8, 9 -> end();
            case 10, 11, 12 -> release();
            case 13 -> {
                ConstantTensorCache.Key<Piece> key = key();
                ConstantModel.Entry entry = model.find(key);
                assertEquals(entry != null, withEvictions(() -> cache.removeIfExist(key)));
                model.remove(entry);
            }
            case 14 -> {
                if (random.nextInt(10) == 0) {
                    Object context = context();
                    withEvictions(() -> {
                        cache.removeContext(context);
                        return true;
                    });
                    model.removeContext(context);
                }
            }
            default -> change();
        }
    }

    private ConstantTensorCache.Key<Piece> key() {
        return new ConstantTensorCache.Key<>(
                Piece.class,
                random.nextBoolean() ? "one" : "other",
                context(),
                random.nextInt(KEYS / 4));
    }

    private Object context() {
        return random.nextBoolean() ? "here" : "there";
    }

    /** Returns the size of a key, equal in each process: the hash code of its class differs. */
    private static long bytes(ConstantTensorCache.Key<?> key) {
        return Math.floorMod(
                        Objects.hash(key.backend(), key.context(), key.key()) * 31L, 5 * MEGABYTE)
                + 1;
    }

    private void lookup() {
        ConstantTensorCache.Key<Piece> key = key();
        ConstantModel.Entry entry = model.find(key);
        if (entry != null && !entry.isMade) {
            return; // promised by this thread
        }
        switch (withEvictions(() -> cache.getOrAdd(key, bytes(key)))) {
            case ConstantTensorCache.Lookup.Hit<Piece> hit -> {
                model.use(Objects.requireNonNull(entry, "a hit, but not cached"));
                hold(hit.constant(), entry);
            }
            case ConstantTensorCache.Lookup.Miss<Piece> miss -> {
                assertEquals(null, entry, "a miss, but cached");
                open.add(new Open(
                        key, miss.promise(), model.promise(key, bytes(key)), bytes(key), now));
            }
            case ConstantTensorCache.Lookup.Failed<Piece> failed ->
                throw new AssertionError(failed.cause());
        }
    }

    private void end() {
        if (open.isEmpty()) {
            return;
        }
        Open promised = open.remove(random.nextInt(open.size()));
        switch (random.nextInt(6)) {
            case 0 -> {
                promised.promise.fail(new IllegalStateException("at random"));
                model.remove(promised.entry);
            }
            case 1 -> {
                promised.promise.close();
                model.remove(promised.entry);
            }
            default -> {
                ConstantHold<Piece> own = withEvictions(() ->
                        promised.promise.fulfil(memory.allocate(promised.key, promised.bytes)));
                boolean isCached = model.fulfil(promised.entry, now - promised.start);
                assertEquals(isCached, own.isCached());
                hold(own, isCached ? promised.entry : null);
            }
        }
    }

    private void hold(ConstantHold<Piece> constant, ConstantModel.@Nullable Entry entry) {
        held.add(new Held(constant, entry));
        if (random.nextInt(4) == 0) {
            expectedCallbacks += entry == null ? 1 : 0;
            AtomicInteger ran = new AtomicInteger();
            constant.onEviction(() -> {
                ran.incrementAndGet();
                callbacks++;
            });
            if (entry != null) {
                observed.add(new Observed(constant, ran));
            }
        }
    }

    /** A hold with a callback, and the number of its calls. */
    private record Observed(ConstantHold<Piece> constant, AtomicInteger ran) {}

    private void release() {
        if (!held.isEmpty()) {
            Held handle = held.remove(random.nextInt(held.size()));
            observed.removeIf(one -> one.constant == handle.constant);
            handle.constant.close();
        }
    }

    private void change() {
        if (random.nextInt(4) == 0) {
            long megabytes = random.nextInt(6) == 0 ? Limit.UNLIMITED : random.nextInt(25);
            Limit limit = new Limit(megabytes, POLICIES.get(random.nextInt(POLICIES.size())));
            withEvictions(() -> {
                caches.setLimit(EngineKind.GPU, limit);
                return true;
            });
            model.change(limit);
        }
    }

    private interface Step<T> {
        T run();
    }

    /**
     * Runs a step, and counts the callbacks that it must cause: those of holds whose tensor was
     * evicted.
     */
    private <T> T withEvictions(Step<T> step) {
        T result = step.run();
        for (Observed one : List.copyOf(observed)) {
            if (!one.constant.isCached()) {
                assertEquals(1, one.ran.get(), "notified once");
                expectedCallbacks++;
                observed.remove(one);
            } else {
                assertEquals(0, one.ran.get(), "notified too early");
            }
        }
        return result;
    }

    private void compare(int history, int step) {
        String where = "seed " + TestSeed.VALUE + ", history " + history + ", step " + step;
        ConstantTensorCache.Statistics statistics = cache.statistics();
        assertEquals(model.cachedBytes(), statistics.bytes(), where);
        assertEquals(model.promised(), statistics.promisedBytes(), where);
        assertEquals(model.tensors(), statistics.tensors(), where);
        assertTrue(
                statistics.bytes() + statistics.promisedBytes() <= model.limit().bytes(), where);
        assertEquals(0, memory.freedTwice(), where);
        for (String backend : List.of("one", "other")) {
            for (String context : List.of("here", "there")) {
                for (int i = 0; i < KEYS / 4; i++) {
                    ConstantTensorCache.Key<Piece> key =
                            new ConstantTensorCache.Key<>(Piece.class, backend, context, i);
                    ConstantModel.Entry entry = model.find(key);
                    assertEquals(entry != null && entry.isMade, cache.isCached(key), where);
                }
            }
        }
        for (Held handle : held) {
            assertFalse(handle.constant.buffer().isFreed(), where);
            boolean isCached = handle.entry != null && model.find(handle.entry.key) == handle.entry;
            assertEquals(isCached, handle.constant.isCached(), where);
        }
    }
}
