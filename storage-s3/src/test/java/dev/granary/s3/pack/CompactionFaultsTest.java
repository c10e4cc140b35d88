package dev.granary.s3.pack;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.format.Pack;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.testing.Await;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * Compaction that is killed, refused, given wrong responses, or run concurrently: no entry is lost,
 * and the next one completes it.
 */
class CompactionFaultsTest {
    private static final Duration GRACE = Duration.ofDays(1);
    private static final int STRIDE = 3;

    private final TestEntries entries = new TestEntries("CompactionFaultsTest");

    /**
     * A bucket with all kinds of work: unpacked entries, small packs, removable entries and packs.
     */
    private final class Scene {
        private final PackFixture bucket = new PackFixture("CompactionFaultsTest");
        private final List<Entry> all = new ArrayList<>(
                Stream.generate(() -> entries.entry(100)).limit(20).toList());

        Scene() {
            PackInfo old = bucket.publish(bucket.pack(all.subList(0, 3)));
            bucket.publish(bucket.pack(all.subList(2, 6)));
            Pack with = bucket.pack(all.subList(0, 3));
            bucket.place(with);
            assertThat(bucket.log()
                            .commit(base -> ManifestPlan.commit(base.replacing(
                                    Set.of(old.name()),
                                    List.of(with.info()),
                                    base.unpackedEntries()))))
                    .isDone();
            bucket.placeUnpacked(all.get(0));
            bucket.placeUnpacked(all.get(4));
            bucket.store.pass(GRACE);
            all.subList(6, 20).forEach(bucket::placeUnpacked);
        }

        PackCompactor.Result compact() {
            PackCompactor compaction = bucket.compaction();
            return switch (compaction.plan(GRACE)) {
                case PackCompactor.Planned.Ready ready ->
                    compaction.run(ready.plan(), PackManifest.UnpackedEntries.POSSIBLE, _ -> {});
                case PackCompactor.Planned.Unavailable unavailable ->
                    new PackCompactor.Result.Failed(unavailable.cause());
            };
        }

        void assertNothingLost(String when) {
            try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
                assertEquals(List.of(), reading.lost(all), when);
            }
        }

        /**
         * Two undisturbed compactions, a grace period apart, leave each entry once, and no other
         * object.
         */
        void assertCompletes(String when) {
            assertThat(compact()).as(when).isDone();
            assertNothingLost(when);
            bucket.store.pass(GRACE);
            assertThat(compact()).as(when).isDone();
            assertNothingLost(when);
            bucket.store.pass(GRACE);
            assertThat(compact()).as(when).isDone();
            assertNothingLost(when);
            assertEquals(20, bucket.newest().entries(), when);
            assertEquals(
                    0,
                    bucket.store.keys().stream()
                            .filter(key -> key.contains("/e/"))
                            .count(),
                    when);
            assertEquals(
                    1,
                    bucket.store.keys().stream()
                            .filter(key -> key.contains("/p/"))
                            .count(),
                    when);
        }
    }

    /** The process has ended. */
    private static final class Killed extends RuntimeException {
        Killed() {
            super("killed", null, false, false);
        }
    }

    @Test
    @DisplayName("D4 killed before each of its requests: no entry is lost, and the next compaction"
            + " completes it")
    void killed() {
        boolean isKilled = true;
        int steps = 0;
        for (; isKilled; steps++) {
            Scene scene = new Scene();
            AtomicInteger left = new AtomicInteger(steps);
            scene.bucket.store.beforeEach(() -> {
                if (left.getAndDecrement() == 0) {
                    throw new Killed();
                }
            });
            try {
                PackCompactor.Result result = scene.compact();
                assertThat(result).isDone();
                isKilled = false;
            } catch (Killed e) {
                isKilled = true;
            }
            scene.bucket.store.beforeEach(() -> {});
            scene.assertNothingLost("killed before request " + steps);
            scene.assertCompletes("killed before request " + steps);
        }
        assertTrue(steps > 30, steps + " steps");
    }

    private static List<Fault> faults() {
        return Stream.concat(Stream.of(new Fault.Lost(DENIED)), Fault.each().stream())
                .filter(fault -> !(fault instanceof Fault.Late))
                .toList();
    }

    @ParameterizedTest
    @MethodSource("faults")
    @DisplayName("R2 R13 each fault at every third of its requests, from a drawn one on: a result,"
            + " no lost entry, and the next compaction completes it")
    void faults(Fault fault) {
        faults(fault, TestSeed.random("CompactionFaultsTest").nextInt(STRIDE), STRIDE);
    }

    @ParameterizedTest
    @MethodSource("faults")
    @Tag("exhaustive")
    @DisplayName("R2 R13 the same for each of its requests")
    void faultsAtEachRequest(Fault fault) {
        faults(fault, 0, 1);
    }

    private void faults(Fault fault, int first, int stride) {
        Scene undisturbed = new Scene();
        undisturbed.bucket.store.newRequests();
        undisturbed.compact();
        int requests = undisturbed.bucket.store.newRequests().size();
        assertTrue(requests > 30, requests + " requests");
        for (int n = first; n < requests; n += stride) {
            Scene scene = new Scene();
            String when = fault + " at request " + n;
            scene.bucket.store.plan(FaultPlan.once(_ -> true, n, fault));
            scene.compact();
            scene.bucket.store.plan(FaultPlan.SOUND);
            scene.assertNothingLost(when);
            scene.assertCompletes(when);
        }
    }

    @Test
    @DisplayName(
            "D5 two compactions at once: every entry is found throughout, and is in one pack in"
                    + " the end")
    void twoAtOnce() throws Exception {
        for (int round = 0; round < 30; round++) {
            Scene scene = new Scene();
            CyclicBarrier start = new CyclicBarrier(2);
            try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
                List<Future<PackCompactor.Result>> both = Stream.generate(
                                () -> threads.submit(() -> {
                                    start.await();
                                    return scene.compact();
                                }))
                        .limit(2)
                        .toList();
                for (Future<PackCompactor.Result> one : both) {
                    assertThat(one.get())
                            .isOneOf(
                                    PackCompactor.Result.Done.class,
                                    PackCompactor.Result.Overtaken.class);
                }
            }
            scene.assertNothingLost("round " + round);
            scene.assertCompletes("round " + round);
        }
    }

    @Test
    @DisplayName("R20 D5 readers with old and new manifests find everything, and never wrong bytes,"
            + " while compactions run")
    void readersMeanwhile() throws Exception {
        Scene scene = new Scene();
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicLong lookups = new AtomicLong();
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<?>> readers = new ArrayList<>();
            for (boolean isOld : new boolean[] {true, true, false, false}) {
                readers.add(threads.submit(() -> read(scene, isOld, isOver, lookups)));
            }
            for (int i = 0; i < 20; i++) {
                scene.bucket.publish(scene.bucket.pack(scene.all.subList(i % 10, i % 10 + 8)));
                scene.bucket.placeUnpacked(scene.all.get(19 - i % 10));
                assertThat(scene.compact()).isDone();
                long seen = lookups.get();
                Await.holds(() -> lookups.get() >= seen + 100); // readers run in every state
            }
            isOver.set(true);
            for (Future<?> reader : readers) {
                reader.get();
            }
        }
        scene.assertCompletes("after the readers");
    }

    private static void read(Scene scene, boolean isOld, AtomicBoolean isOver, AtomicLong lookups) {
        while (!isOver.get()) {
            try (PackLookupDriver reading = new PackLookupDriver(scene.bucket)) {
                do {
                    for (Entry entry : scene.all) {
                        LoadResult found = reading.load(entry);
                        assertEquals(entry.binaries(), assertThat(found).isHit().binaries());
                        lookups.incrementAndGet();
                    }
                } while (isOld && !isOver.get());
            }
        }
    }
}
