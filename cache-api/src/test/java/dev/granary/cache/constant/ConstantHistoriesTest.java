package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.FakeDeviceMemory.Piece;
import dev.granary.testing.TestSeed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Random histories of one cache beside {@link ConstantModel}: after every step both say the same. */
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
    private final List<Told> told = new ArrayList<>();
    private int callbacks;
    private int expectedCallbacks;

    /** A handle that is in use; {@code entry} is what it came from, null where that was never cached. */
    private record Held(ConstantHold<Piece> constant, ConstantModel.@Nullable Entry entry) {}

    /** A promise that is not ended; {@code entry} is null where it is for its holder alone. */
    private record Open(ConstantKey<Piece> key, ConstantPromise<Piece> promise, ConstantModel.@Nullable Entry entry, long bytes, long start) {}

    @Test
    @DisplayName("M15 40 random histories of 1,000 steps: contents, sizes and reservations as in the model, nothing freed in use, twice or never")
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
            told.clear();
            assertEquals(model.kept(), memory.liveBytes(), "what is cached, and nothing else, is alive");
            caches.close();
            memory.assertAllFreed();
        }
        assertEquals(expectedCallbacks, callbacks);
        assertTrue(hits > HISTORIES * STEPS / 50 && callbacks > HISTORIES, "the histories did something: " + hits + " hits, " + callbacks + " callbacks");
    }

    private void step() {
        now += random.nextInt(100);
        switch (random.nextInt(16)) {
            case 0, 1, 2, 3, 4, 5, 6 -> lookUp();
            case 7, 8, 9 -> end();
            case 10, 11, 12 -> letGo();
            case 13 -> {
                ConstantKey<Piece> key = key();
                ConstantModel.Entry entry = model.find(key);
                assertEquals(entry != null, leaving(() -> cache.removeIfExist(key)));
                model.remove(entry);
            }
            case 14 -> {
                if (random.nextInt(10) == 0) {
                    Object context = context();
                    leaving(() -> {
                        cache.removeContext(context);
                        return true;
                    });
                    model.removeContext(context);
                }
            }
            default -> change();
        }
    }

    private ConstantKey<Piece> key() {
        return new ConstantKey<>(Piece.class, random.nextBoolean() ? "one" : "other", context(), random.nextInt(KEYS / 4));
    }

    private Object context() {
        return random.nextBoolean() ? "here" : "there";
    }

    /** One size for a key, the same in each process: the hash code of its class differs. */
    private static long bytes(ConstantKey<?> key) {
        return Math.floorMod(Objects.hash(key.backend(), key.context(), key.key()) * 31L, 5 * MEGABYTE) + 1;
    }

    private void lookUp() {
        ConstantKey<Piece> key = key();
        ConstantModel.Entry entry = model.find(key);
        if (entry != null && !entry.isMade) {
            return; // this thread has promised it
        }
        switch (leaving(() -> cache.getOrAdd(key, bytes(key)))) {
            case ConstantLookup.Hit<Piece> hit -> {
                model.hit(Objects.requireNonNull(entry, "a hit on what is not cached"));
                hold(hit.constant(), entry);
            }
            case ConstantLookup.Miss<Piece> miss -> {
                assertEquals(null, entry, "a miss on what is cached");
                open.add(new Open(key, miss.promise(), model.promise(key, bytes(key)), bytes(key), now));
            }
            case ConstantLookup.Failed<Piece> failed -> throw new AssertionError(failed.cause());
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
                ConstantHold<Piece> mine = leaving(() -> promised.promise.fulfil(memory.allocate(promised.key, promised.bytes)));
                boolean isKept = model.fulfil(promised.entry, now - promised.start);
                assertEquals(isKept, mine.isCached());
                hold(mine, isKept ? promised.entry : null);
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
                told.add(new Told(constant, ran));
            }
        }
    }

    /** A handle that wants to be told, and how often it was. */
    private record Told(ConstantHold<Piece> constant, AtomicInteger ran) {}

    private void letGo() {
        if (!held.isEmpty()) {
            Held handle = held.remove(random.nextInt(held.size()));
            told.removeIf(one -> one.constant == handle.constant);
            handle.constant.close();
        }
    }

    private void change() {
        if (random.nextInt(4) == 0) {
            long megabytes = random.nextInt(6) == 0 ? ConstantLimit.UNLIMITED : random.nextInt(25);
            ConstantLimit limit = new ConstantLimit(megabytes, POLICIES.get(random.nextInt(POLICIES.size())));
            leaving(() -> {
                caches.setCapacity(EngineKind.GPU, limit.megabytes(), limit.policy());
                return true;
            });
            model.change(limit);
        }
    }

    private interface Step<T> {
        T run();
    }

    /** Runs a step, and counts how many of those who want to be told have to be: those whose tensor has left. */
    private <T> T leaving(Step<T> step) {
        T result = step.run();
        for (Told one : List.copyOf(told)) {
            if (!one.constant.isCached()) {
                assertEquals(1, one.ran.get(), "told once");
                expectedCallbacks++;
                told.remove(one);
            } else {
                assertEquals(0, one.ran.get(), "told too early");
            }
        }
        return result;
    }

    private void compare(int history, int step) {
        String where = "seed " + TestSeed.VALUE + ", history " + history + ", step " + step;
        ConstantStatistics statistics = cache.statistics();
        assertEquals(model.kept(), statistics.bytes(), where);
        assertEquals(model.promised(), statistics.promisedBytes(), where);
        assertEquals(model.tensors(), statistics.tensors(), where);
        assertTrue(statistics.bytes() + statistics.promisedBytes() <= model.limit().bytes(), where);
        assertEquals(0, memory.freedTwice(), where);
        for (String backend : List.of("one", "other")) {
            for (String context : List.of("here", "there")) {
                for (int i = 0; i < KEYS / 4; i++) {
                    ConstantKey<Piece> key = new ConstantKey<>(Piece.class, backend, context, i);
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
