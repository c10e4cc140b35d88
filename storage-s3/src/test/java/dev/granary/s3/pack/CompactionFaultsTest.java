package dev.granary.s3.pack;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.CompactionReport;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.RegisterException;
import dev.granary.testing.Await;
import dev.granary.testing.Race;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * Compaction and removal that are killed, refused, given wrong responses, or run concurrently: no
 * entry is lost, and the next ones complete them.
 */
class CompactionFaultsTest {
    private static final Duration GRACE = Duration.ofDays(1);
    private static final int STRIDE = 12;

    private final TestEntries entries = new TestEntries("CompactionFaultsTest");

    /**
     * A bucket with all kinds of work: unpacked entries, small packs, redundant entries, packs that
     * left, and a boundary that is due.
     */
    private final class Scene {
        private final PackFixture bucket = new PackFixture("CompactionFaultsTest");
        private final List<Entry> all = new ArrayList<>(
                Stream.generate(() -> entries.entry(100)).limit(20).toList());

        Scene() {
            try {
                bucket.place(
                        bucket.pack(all.subList(0, 2)),
                        bucket.register().readOrCreate().head().generation());
                bucket.publish(bucket.pack(all.subList(0, 3)));
                bucket.publish(bucket.pack(all.subList(2, 5)));
                bucket.compact();
                bucket.remover().run(GRACE);
            } catch (CompactionException | RegisterException e) {
                throw new AssertionError(e);
            }
            bucket.publish(bucket.pack(all.subList(4, 6)));
            bucket.placeUnpacked(all.get(0));
            bucket.placeUnpacked(all.get(4));
            bucket.store.pass(GRACE);
            all.subList(6, 20).forEach(bucket::placeUnpacked);
        }

        /** Compacts and removes, as the command does; empty if another compaction was faster. */
        Optional<CompactionReport> compact() throws CompactionException {
            PackCompactor compactor = bucket.compactor();
            Optional<CompactionReport> report =
                    compactor.run(compactor.plan(Set.of()), GRACE, true, _ -> {});
            bucket.remover().run(GRACE);
            return report;
        }

        void assertNothingLost(String when) {
            try (PackLookupDriver machine = new PackLookupDriver(bucket)) {
                assertEquals(List.of(), machine.lost(all), when);
            }
            Set<ObjectName> names = new HashSet<>();
            for (PackInfo pack : bucket.packs()) {
                assertTrue(names.add(pack.name()), when);
                assertTrue(bucket.store.keys().contains(PackFixture.KEYS.pack(pack.name())), when);
            }
        }

        /** Some undisturbed compactions leave each entry once, and no other object. */
        void assertCompletes(String when) {
            try {
                for (int i = 0; i < 4; i++) {
                    assertTrue(compact().isPresent(), when);
                    assertNothingLost(when);
                    bucket.store.pass(GRACE);
                }
            } catch (CompactionException e) {
                throw new AssertionError(when, e);
            }
            assertEquals(20, bucket.packs().stream().mapToInt(PackInfo::entries).sum(), when);
            assertEquals(List.of(1L, 1L, 0L), List.of(count("/p/"), count("/m/"), count("/e/")));
        }

        private long count(String folder) {
            return bucket.store.keys().stream()
                    .filter(key -> key.contains(folder))
                    .count();
        }
    }

    /** The process has ended. */
    private static final class Killed extends RuntimeException {
        private static final long serialVersionUID = 1;

        Killed() {
            super("killed", null, false, false);
        }
    }

    @Test
    @DisplayName("killed before each of its requests: no entry is lost, and the next compaction"
            + " completes it")
    void killed() throws CompactionException {
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
                assertTrue(scene.compact().isPresent());
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
    @DisplayName("each fault at every twelfth of its requests, from a drawn one on: no lost entry,"
            + " and the next compaction completes it")
    void faults(Fault fault) throws CompactionException {
        faults(fault, TestSeed.random("CompactionFaultsTest").nextInt(STRIDE), STRIDE);
    }

    @ParameterizedTest
    @MethodSource("faults")
    @Tag("exhaustive")
    @DisplayName("the same for each of its requests")
    void faultsAtEachRequest(Fault fault) throws CompactionException {
        faults(fault, 0, 1);
    }

    private void faults(Fault fault, int first, int stride) throws CompactionException {
        Scene undisturbed = new Scene();
        undisturbed.bucket.store.newRequests();
        undisturbed.compact();
        int requests = undisturbed.bucket.store.newRequests().size();
        assertTrue(requests > 30, requests + " requests");
        for (int n = first; n < requests; n += stride) {
            Scene scene = new Scene();
            String when = fault + " at request " + n;
            scene.bucket.store.plan(FaultPlan.once(_ -> true, n, fault));
            try {
                scene.compact();
            } catch (CompactionException e) {
                assertTrue(!String.valueOf(e.getMessage()).isEmpty(), when);
            }
            scene.bucket.store.plan(FaultPlan.SOUND);
            scene.assertNothingLost(when);
            scene.assertCompletes(when);
        }
    }

    @Test
    @DisplayName("two compactions at once: one of them is done, and every entry is in one pack in"
            + " the end")
    void twoAtOnce() throws Exception {
        for (int round = 0; round < 10; round++) {
            Scene scene = new Scene();
            List<Optional<CompactionReport>> both = Race.run(2, _ -> scene.compact());
            assertTrue(both.stream().anyMatch(Optional::isPresent), "round " + round);
            scene.assertNothingLost("round " + round);
            scene.assertCompletes("round " + round);
        }
    }

    @Test
    @DisplayName("readers with old and new heads find everything, and never wrong bytes, while"
            + " compactions run")
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
                assertTrue(scene.compact().isPresent());
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
            try (PackLookupDriver machine = new PackLookupDriver(scene.bucket)) {
                do {
                    for (Entry entry : scene.all) {
                        LoadResult found = machine.load(entry);
                        assertEquals(entry.binaries(), assertThat(found).isHit().binaries());
                        lookups.incrementAndGet();
                    }
                } while (isOld && !isOver.get());
            }
        }
    }
}
