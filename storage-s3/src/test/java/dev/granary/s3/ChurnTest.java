package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.CollectionPlan.Rules;
import dev.granary.s3.UseNotes.UseNote;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.PackLookupDriver;
import dev.granary.s3.store.GetResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Simulation of a fleet whose nodes live for ten minutes, one after the other, with an empty disk
 * each: what its bucket keeps, and what that costs. Each day a release replaces kernels, the bucket
 * is compacted, and once a week collected.
 */
class ChurnTest {
    private static final Duration GRACE = Duration.ofDays(1);
    private static final int DAYS = 60;
    private static final int MEASURED = 30; // the last days
    private static final int NODES = 144; // a day
    private static final int IN_USE = 100;
    private static final int RELEASED = 5; // kernels a day
    private static final int WANTED = 30; // kernels of a node
    private static final int ENTRY_BYTES = 2_000;
    private static final int UNUSED_DAYS = 14;

    /** Prices of Amazon S3 in dollars for a million requests. */
    private static final double WRITE_PRICE = 5;

    private static final double READ_PRICE = 0.4;

    private final Random random = Random.from(new TestEntries("churn").random());

    /** What the last days had. */
    private static final class Month {
        private long lookups;
        private long hits;
        private long writes;
        private long reads;
        private long entries;
        private long bytes;

        double hitRate() {
            return (double) hits / lookups;
        }

        @Override
        public String toString() {
            return String.format(
                    "hit rate %.2f %%, %d entries, %d KiB, %d writes and %d reads a day, %.4f"
                            + " dollars a month for 1,000 such fleets",
                    100 * hitRate(),
                    entries,
                    bytes >> 10,
                    writes / MEASURED,
                    reads / MEASURED,
                    1_000 * (writes * WRITE_PRICE + reads * READ_PRICE) / 1e6);
        }
    }

    private Month simulate(boolean isCollected) throws Exception {
        PackFixture bucket = new PackFixture("churn " + isCollected);
        TestEntries maker = new TestEntries("churn " + isCollected);
        Keeper keeper = new Keeper(bucket);
        List<Entry> current = new ArrayList<>(
                Stream.generate(() -> maker.entry(ENTRY_BYTES)).limit(IN_USE).toList());
        bucket.publish(current.toArray(Entry[]::new)); // by the CI of the first release
        Month month = new Month();
        long machines = 0;
        for (int day = 0; day < DAYS; day++) {
            month = day == DAYS - MEASURED ? new Month() : month;
            for (int i = 0; i < RELEASED; i++) {
                current.removeFirst();
                current.add(maker.entry(ENTRY_BYTES));
            }
            for (int node = 0; node < NODES; node++) {
                bucket.store.pass(Duration.ofDays(1).dividedBy(NODES));
                bucket.store.newRequests();
                List<Entry> wanted = new ArrayList<>(current);
                Collections.shuffle(wanted, random);
                wanted = wanted.subList(0, WANTED);
                List<Entry> compiled;
                try (PackLookupDriver machine = new PackLookupDriver(bucket)) {
                    compiled = machine.lost(wanted);
                }
                month.reads += bucket.store.newRequests().size();
                compiled.forEach(bucket::placeUnpacked);
                month.writes += 2L * compiled.size() + 1; // claims, entries and the note
                month.lookups += WANTED;
                month.hits += WANTED - compiled.size();
                keeper.notes.write(new UseNote(
                        keeper.today(),
                        HexFormat.of().toHexDigits(machines++),
                        new TreeMap<>(Map.of(
                                PackFixture.NAMESPACE,
                                wanted.stream()
                                        .mapToLong(entry -> entry.id().hash().prefix())
                                        .sorted()
                                        .toArray())),
                        Map.of()));
            }
            bucket.store.newRequests();
            if (day % 7 != 6) {
                bucket.compact();
                bucket.remover().run(GRACE);
            } else if (isCollected) {
                keeper.collect();
            }
            for (String request : bucket.store.newRequests()) {
                boolean isRead = request.startsWith("GET") || request.startsWith("HEAD");
                month.reads += isRead ? 1 : 0;
                month.writes += isRead || request.startsWith("DELETE") ? 0 : 1;
            }
        }
        CollectionPlan.Target all = keeper.plan().targets().iterator().next();
        CollectionPlan.Sum kept = all.leaving().plus(all.staying());
        month.entries = kept.entries();
        month.bytes = kept.bytes();
        System.out.println((isCollected ? "collected: " : "never collected: ") + month);
        return month;
    }

    /** The notes and the collector of a bucket. */
    private record Keeper(PackFixture bucket, UseNotes notes) {
        private static final Rules RULES = new Rules("", UNUSED_DAYS, Long.MAX_VALUE, false);

        Keeper(PackFixture bucket) {
            this(
                    bucket,
                    new UseNotes(
                            bucket.settings(Optional.empty()).layout(),
                            bucket.store,
                            bucket.store,
                            1));
        }

        LocalDate today() {
            return CollectionPlan.day(
                    ((GetResult.Absent) bucket.store.get("absent", 1)).serverMillis());
        }

        private BucketCollector collector() {
            return new BucketCollector(bucket.store, bucket.settings(Optional.empty()), notes);
        }

        CollectionPlan plan() throws Exception {
            return collector().plan(RULES);
        }

        void collect() throws Exception {
            BucketCollector collector = collector();
            CollectionPlan plan = collector.plan(RULES);
            for (CollectionPlan.Target target : plan.targets()) {
                collector.collect(plan, target, true, _ -> {});
            }
            collector.forgetNotes(plan);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("two months of nodes that live ten minutes: a collected bucket stays within what"
            + " weeks use, with the hit rate of one that keeps everything")
    void churn() throws Exception {
        Month all = simulate(false);
        Month collected = simulate(true);
        assertEquals(all.hitRate(), collected.hitRate(), 0.001);
        assertTrue(collected.hitRate() > 0.98, collected::toString);
        long used = IN_USE + RELEASED * (UNUSED_DAYS + 2L * 7);
        assertTrue(collected.entries <= used, collected::toString);
        assertTrue(all.entries >= IN_USE + (long) RELEASED * (DAYS - 1), all::toString);
    }
}
