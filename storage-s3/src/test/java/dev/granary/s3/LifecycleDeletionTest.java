package dev.granary.s3;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Tests of a lifecycle rule that deletes any object between any two requests: entries, packs,
 * bases, the head, the marker.
 */
class LifecycleDeletionTest {
    private static final int HISTORIES = TestRuns.count(40);
    private static final int STEPS = 60;
    private static final Duration INTERVAL = Duration.ofMinutes(1);
    private static final Duration LONGER_THAN_ANY_MEMORY = INTERVAL.multipliedBy(3);

    private final SplittableRandom seeds = TestSeed.random("LifecycleDeletionTest");
    private final TestEntries made = new TestEntries("LifecycleDeletionTest");

    /** One random history of a few machines over one bucket. */
    private final class History {
        private final SplittableRandom random;
        private final MemoryObjectStore store = new MemoryObjectStore();
        private final TestTicker ticker = new TestTicker();
        private final S3Config config =
                S3Config.builder("bucket").refreshInterval(INTERVAL).build();
        private final List<Entry> entries = new ArrayList<>();
        private final List<BucketTier> tiers = new ArrayList<>();
        private final BulkBucket packed;
        private long hits;
        private long deleted;

        History(SplittableRandom random) {
            this.random = random;
            for (int i = 0; i < 8; i++) {
                entries.add(made.entry(1 + random.nextInt(400)));
            }
            for (int i = 0; i < 3; i++) {
                tiers.add(tier());
            }
            packed = new BulkBucket(config, _ -> store, ticker, new Random(random.nextLong()));
        }

        BucketTier tier() {
            return new BucketTier(config, _ -> store, ticker, new Random(random.nextLong()));
        }

        void run() {
            double share = random.nextDouble(0.02, 0.3);
            SplittableRandom deletions = random.split();
            store.plan(
                    _ -> { // called under the store's lock, by one thread at a time
                        if (deletions.nextDouble() < share && !store.keys().isEmpty()) {
                            store.remove(store.keys()
                                    .get(deletions.nextInt(store.keys().size())));
                            deleted++;
                        }
                        return new Fault.None();
                    });
            for (int i = 0; i < STEPS; i++) {
                step();
            }
            store.plan(FaultPlan.SOUND);
            ticker.pass(LONGER_THAN_ANY_MEMORY);
            store.pass(LONGER_THAN_ANY_MEMORY);
            restore();
            tiers.forEach(BucketTier::close);
            packed.close();
        }

        private void step() {
            BucketTier tier = tiers.get(random.nextInt(tiers.size()));
            switch (random.nextInt(10)) {
                case 0, 1, 2, 3 -> lookup(tier, entries.get(random.nextInt(entries.size())));
                case 4, 5 ->
                    assertNotRefused(tier.store(entries.get(random.nextInt(entries.size()))));
                case 6 -> publishPack();
                case 7 -> compact();
                default -> {
                    Duration passes = Duration.ofSeconds(random.nextInt(40));
                    ticker.pass(passes);
                    store.pass(passes);
                }
            }
        }

        private boolean lookup(BucketTier tier, Entry entry) {
            return switch (tier.load(entry.id())) {
                case LoadResult.Hit hit -> {
                    assertThat(hit).isHitOf(entry);
                    hits++;
                    yield true;
                }
                case LoadResult.Absent _, LoadResult.Unavailable _ -> false;
                case LoadResult.Damaged bad -> fail("nothing was damaged: " + bad);
            };
        }

        private void publishPack() {
            PackPublisher publisher =
                    packed.publisher(TestEntries.TARGET.path(), tiers.getFirst()::store, _ -> {});
            int count = 1 + random.nextInt(4);
            for (int i = 0; i < count; i++) {
                publisher.add(
                        entries.get(random.nextInt(entries.size())), History::assertNotRefused);
            }
            publisher.finish();
        }

        private void compact() {
            PackCompactor compaction = packed.compactor(TestEntries.TARGET.path());
            try {
                compaction.run(compaction.plan(Set.of()), Duration.ofSeconds(30), true, _ -> {});
            } catch (CompactionException e) {
                assertFalse(String.valueOf(e.getMessage()).isEmpty());
            }
        }

        private static void assertNotRefused(StoreResult result) {
            assertThat(result).isNoneOf(StoreResult.Divergent.class, StoreResult.Refused.class);
        }

        /**
         * Compiles and publishes missing entries again; then every machine that refreshes finds
         * them.
         */
        private void restore() {
            for (Entry entry : entries) {
                BucketTier machine = tier();
                if (!lookup(machine, entry)) {
                    StoreResult result = machine.store(entry);
                    assertThat(result).isStoredOrDuplicate();
                }
                machine.close();
            }
            BucketTier fresh = tier();
            entries.forEach(entry ->
                    assertTrue(lookup(fresh, entry), () -> entry.id() + " is still missing"));
            fresh.close();
        }
    }

    @Test
    @DisplayName("any object is deleted between any two requests: misses, never wrong bytes, never"
            + " an exception; then all is complete again")
    void anything() {
        long hits = 0;
        long deleted = 0;
        for (int i = 0; i < HISTORIES; i++) {
            History history = new History(seeds.split());
            history.run();
            hits += history.hits;
            deleted += history.deleted;
        }
        assertTrue(
                hits > HISTORIES && deleted > HISTORIES,
                "the histories show little: " + hits + " hits, " + deleted + " deletions");
    }
}
