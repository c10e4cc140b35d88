package dev.granary.s3.pack.manifest;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.BucketRemover;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.PackLookupDriver;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.store.ObjectMarks;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A process is suspended until a rule has removed everything and others have restarted the chain:
 * their entries are found at every moment.
 */
class EmptiedBucketTest {
    // to a time from which numbers are derived
    private static final Duration YEARS = Duration.ofDays(4 * 365);

    private final TestEntries made = new TestEntries("EmptiedBucketTest");
    private PackFixture bucket = new PackFixture("EmptiedBucketTest");
    private boolean isBusy;

    private void begin(String name, int manifests) {
        bucket = new PackFixture(name);
        bucket.store.pass(YEARS);
        publish(manifests);
    }

    /** Publishes that many packs, and thus manifests. */
    private List<Entry> publish(int manifests) {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < manifests; i++) {
            all.add(made.entry(30));
            bucket.publishAgain(all.getLast());
        }
        return all;
    }

    private void assertFound(List<Entry> all) {
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), reading.lost(all));
        }
    }

    /**
     * Runs the work, suspended before the request of that number; returns the number of its
     * requests.
     */
    private int suspended(int at, int restartedManifests, Runnable work) {
        int[] requests = {0};
        List<Entry> others = new ArrayList<>();
        bucket.store.beforeEach(() -> {
            if (isBusy) {
                return;
            }
            isBusy = true;
            try {
                if (requests[0]++ == at) {
                    bucket.store.pass(Duration.ofDays(100));
                    bucket.store.keys().forEach(bucket.store::remove);
                    others.addAll(publish(restartedManifests));
                }
                assertFound(others);
            } finally {
                isBusy = false;
            }
        });
        work.run();
        bucket.store.beforeEach(() -> {});
        assertFound(others);
        others.addAll(publish(2));
        assertFound(others);
        return requests[0];
    }

    @Test
    @DisplayName("B4 a publisher is suspended at any request until everything was removed and"
            + " restarted: no pack is lost, its own included")
    void publisher() {
        for (int anew : List.of(0, 2)) {
            int requests = 1;
            for (int at = 0; at < requests; at++) {
                begin("publisher " + anew + " " + at, 2);
                List<StoreResult> results = new ArrayList<>();
                Entry mine = made.entry(30);
                PackPublisher publisher = bucket.publisher();
                assertTrue(publisher.add(mine, results::add));
                requests = Math.max(requests, suspended(at, anew, publisher::finish));
                if (results.getFirst() instanceof StoreResult.Stored) {
                    assertFound(List.of(mine));
                }
            }
            assertTrue(requests >= 10);
        }
    }

    @Test
    @DisplayName("B4 a compaction is suspended at any request until everything was removed and"
            + " restarted: no pack is lost")
    void compaction() {
        for (int anew : List.of(0, 2)) {
            int requests = 1;
            for (int at = 0; at < requests; at++) {
                begin("compaction " + anew + " " + at, 2);
                requests = Math.max(requests, suspended(at, anew, () -> {
                    PackCompactor compaction = bucket.compaction();
                    if (compaction.plan(Duration.ofDays(1))
                            instanceof PackCompactor.Planned.Ready(CompactionPlan plan)) {
                        compaction.run(plan, PackManifest.UnpackedEntries.NONE, _ -> {});
                    }
                }));
            }
            assertTrue(requests >= 15);
        }
    }

    @Test
    @DisplayName("B4 numbers of manifests are never reused; in an older bucket they continue")
    void numbers() {
        begin("numbers", 3);
        long before = bucket.newest().number();
        bucket.store.keys().forEach(bucket.store::remove);
        bucket.store.pass(Duration.ofSeconds(1));
        publish(1);
        assertTrue(bucket.newest().number() > before);
        bucket.store.keys().forEach(bucket.store::remove);
        PackManifest old =
                new PackManifest(57, PackManifest.UnpackedEntries.POSSIBLE, List.of(), List.of());
        bucket.store.place(
                PackFixture.KEYS.manifest(57), old.encode(), new ObjectMarks("00".repeat(16), ""));
        bucket.store.place(PackFixture.KEYS.hint(), "57".getBytes(US_ASCII), ObjectMarks.NONE);
        publish(1);
        assertEquals(58, bucket.newest().number());
    }

    @Test
    @DisplayName("B4 the newest manifest is gone, and the hint still names it: its number is not"
            + " reused, and the hint is rewritten")
    void newestGone() {
        begin("newestGone", 3);
        long newest = bucket.newest().number();
        bucket.store.remove(PackFixture.KEYS.manifest(newest));
        List<Entry> more = publish(1);
        assertEquals(newest + 1, bucket.newest().number());
        assertEquals(
                newest + 1,
                Long.parseLong(new String(bucket.store.body(PackFixture.KEYS.hint()), US_ASCII)));
        assertFound(more);
    }

    @Test
    @DisplayName("a truncated hint is not taken for a smaller number")
    void cutHint() {
        for (long number : List.of(32_774_400_075L, (1L << 20) + 3)) {
            String text = new String(ManifestHint.encode(number), US_ASCII);
            for (int length = 0; length < text.length(); length++) {
                bucket.store.place(
                        PackFixture.KEYS.hint(),
                        text.substring(0, length).getBytes(US_ASCII),
                        ObjectMarks.NONE);
                Optional<ManifestHint> hint = hint();
                assertEquals(0, hint.orElseThrow().number());
            }
            bucket.store.place(PackFixture.KEYS.hint(), text.getBytes(US_ASCII), ObjectMarks.NONE);
            assertEquals(number, hint().orElseThrow().number());
        }
    }

    private Optional<ManifestHint> hint() {
        try {
            return new PackManifestChain(bucket.store, PackFixture.KEYS, _ -> {}).hint();
        } catch (UnknownStateException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName(
            "M7 the owner removes a manifest before the newest one while the hint is at the one"
                    + " before: later publications are not hidden")
    void gap() {
        begin("gap", 3);
        long newest = bucket.newest().number();
        bucket.store.place(
                PackFixture.KEYS.hint(), ManifestHint.encode(newest - 2), ObjectMarks.NONE);
        bucket.store.remove(PackFixture.KEYS.manifest(newest - 1));
        List<Entry> more = publish(2);
        assertFound(more);
    }

    @Test
    @DisplayName(
            "A3 nothing is removed while lookups do not reach the newest manifest; a compaction"
                    + " first repairs the hint")
    void hintGone() {
        Entry entry = made.entry(30);
        bucket.placeUnpacked(entry);
        PackInfo copy = bucket.publish(entry);
        BucketRemover remover = new BucketRemover(bucket.store, PackFixture.KEYS, bucket.log());
        List<UnpackedEntry> unpacked = new ArrayList<>();
        bucket.store.list(PackFixture.KEYS.unpackedPrefix(), object -> UnpackedEntry.of(
                        object, PackFixture.KEYS.unpackedPrefix())
                .ifPresent(unpacked::add));
        bucket.store.remove(PackFixture.KEYS.hint());
        List<BucketRemover.VerifiedCopy> copies =
                List.of(new BucketRemover.VerifiedCopy(unpacked.getFirst(), copy));
        assertEquals(0, remover.removeCopied(copies));
        assertFound(List.of(entry));
        PackCompactor compaction = bucket.compaction();
        CompactionPlan plan = assertThat(compaction.plan(Duration.ofDays(1))).isReady();
        compaction.run(plan, PackManifest.UnpackedEntries.POSSIBLE, _ -> {});
        assertTrue(bucket.store.keys().contains(PackFixture.KEYS.hint()));
        assertEquals(1, remover.removeCopied(copies));
        assertFound(List.of(entry));
    }

    @Test
    @DisplayName(
            "B9 a pack that was named too late, and exists, stays named beside its replacement:"
                    + " its entries were acknowledged")
    void namedTooLate() {
        Entry entry = made.entry(30);
        PackPublisher publisher = bucket.publisher();
        assertTrue(publisher.add(entry, _ -> {}));
        Set<String> first = Set.copyOf(bucket.store.keys());
        boolean[] isLate = {false};
        bucket.store.beforeEach(() -> {
            if (!isLate[0] && bucket.store.namedRequests().getLast().equals("PUT m1")) {
                isLate[0] = true;
                bucket.store.pass(BucketRemover.LONGEST_COMMIT.plusHours(1));
            }
        });
        publisher.finish();
        assertFalse(first.stream().anyMatch(key -> key.endsWith(".pack")));
        assertEquals(2, bucket.newest().packs().size());
        for (PackInfo pack : bucket.newest().packs()) {
            PackFixture one = bucket;
            byte[] body = one.store.body(PackFixture.KEYS.pack(pack.name()));
            one.remove(pack);
            assertFound(List.of(entry));
            one.store.place(PackFixture.KEYS.pack(pack.name()), body, ObjectMarks.NONE);
        }
    }

    @Test
    @DisplayName(
            "B7 an entry that is damaged in the first pack that has it is found in the next one")
    void damagedInOnePack() {
        Entry entry = made.entry(30);
        Entry beside = made.entry(30);
        List<PackInfo> packs =
                Stream.generate(() -> bucket.publish(entry, beside)).limit(3).toList();
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), reading.lost(List.of(beside)));
            bucket.damage(packs.get(0), entry);
            bucket.damage(packs.get(1), entry);
            assertEquals(List.of(), reading.lost(List.of(entry)));
        }
    }
}
