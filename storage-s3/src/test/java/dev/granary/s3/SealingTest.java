package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Tests of a compaction that seals a target during publications of unpacked entries: acknowledged
 * entries are found at every moment, also if the compaction ends early.
 */
class SealingTest {
    private final TestEntries entries = new TestEntries("SealingTest");
    private final Entry packed = entries.entry(100);
    private final Entry unpacked = entries.entry(200);
    private PackFixture packs = new PackFixture("SealingTest");
    private boolean isBusy;

    private RecordingObjectStore store() {
        return packs.store;
    }

    private BucketTier tier() {
        return new BucketTier(
                S3Config.builder("bucket").build(),
                this::store,
                new TestTicker(),
                TestSeed.random("SealingTest"));
    }

    private void publishUnpacked(Entry entry) {
        try (BucketTier publisher = tier()) {
            assertThat(publisher.store(entry)).isStored();
        }
    }

    private void assertFound(Entry entry) {
        try (BucketTier reader = tier()) {
            assertThat(reader.load(entry.id())).isHitOf(entry);
        }
    }

    /** Runs a task before each request, except its own. The capabilities are known already. */
    private void beforeEach(Runnable task) {
        try (BucketTier first = tier()) {
            first.conditionalWrites();
        }
        store().beforeEach(() -> {
            if (!isBusy) {
                isBusy = true;
                try {
                    task.run();
                } finally {
                    isBusy = false;
                }
            }
        });
    }

    @AfterEach
    void noHook() {
        store().beforeEach(() -> {});
    }

    /**
     * Publishes before the request of that number; returns the number of requests of the
     * compaction.
     */
    private int compactAndPublish(int publishedAt, boolean isFirst) {
        packs = new PackFixture("SealingTest " + publishedAt);
        if (!isFirst) {
            packs.publish(packed);
        }
        int[] requests = {0};
        beforeEach(() -> {
            int now = requests[0]++;
            if (now == publishedAt) {
                publishUnpacked(unpacked);
            } else if (now > publishedAt) {
                assertFound(unpacked);
            }
        });
        PackCompactor.Result result = packs.compactAndSeal();
        store().beforeEach(() -> {});
        assertThat(result).isDone();
        if (requests[0] > publishedAt) {
            assertFound(unpacked);
        } else {
            assertEquals(PackManifest.UnpackedEntries.NONE, packs.newest().unpackedEntries());
        }
        return requests[0];
    }

    @Test
    @DisplayName(
            "B8 an entry published unpacked before any request of a sealing compaction is found"
                    + " from then on, at each later request")
    void publishedMeanwhile() {
        for (boolean isFirst : List.of(true, false)) {
            int requests = compactAndPublish(Integer.MAX_VALUE, isFirst);
            assertTrue(requests > 15, () -> requests + " requests");
            for (int at = 0; at < requests; at++) {
                compactAndPublish(at, isFirst);
            }
        }
    }

    @Test
    @DisplayName(
            "B8 a compaction does not seal on the intent of another one, committed after an entry"
                    + " was published unpacked")
    void intentOfAnother() {
        packs.publish(packed);
        int[] manifests = {0};
        beforeEach(() -> {
            // the seal
            if (store().namedRequests().getLast().startsWith("PUT m") && ++manifests[0] == 2) {
                publishUnpacked(unpacked);
                packs.intendToSeal();
            } else if (manifests[0] >= 2) {
                assertFound(unpacked);
            }
        });
        assertEquals(
                PackManifest.UnpackedEntries.POSSIBLE,
                assertThat(packs.compactAndSeal()).isDone().unpackedEntries());
        assertTrue(manifests[0] >= 2);
        assertFound(unpacked);
    }

    @Test
    @DisplayName(
            "B8 an unpacked entry whose publisher died before it read the manifest is a duplicate"
                    + " only once lookups are sure to find it")
    void diedAfterItsPut() {
        packs.publish(packed);
        packs.intendToSeal();
        packs.placeUnpacked(unpacked);
        try (BucketTier publisher = tier()) {
            assertEquals(
                    Optional.of(StoreResult.DUPLICATE), publisher.duplicates().find(unpacked));
        }
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, packs.newest().unpackedEntries());
    }

    @Test
    @DisplayName(
            "B8 an intent left by a compaction is taken over by the next one, and costs lookups"
                    + " nothing")
    void intentLeftBehind() {
        packs.publish(packed);
        packs.intendToSeal();
        packs.placeUnpacked(unpacked);
        assertFound(unpacked);
        assertEquals(
                PackManifest.UnpackedEntries.NONE,
                assertThat(packs.compactAndSeal()).isDone().unpackedEntries());
        assertFound(unpacked);
        assertFound(packed);
    }

    @Test
    @DisplayName("B8 one stale listing does not seal")
    void oneListingLags() {
        for (int lagging = 2; lagging <= 3; lagging++) { // the first one is that of the plan
            packs = new PackFixture("SealingTest lagging " + lagging);
            packs.publish(packed);
            Entry unseen = entries.entry(lagging);
            assertEquals(
                    PackManifest.UnpackedEntries.POSSIBLE,
                    assertThat(packs.compactAndSealWithLag(lagging, unseen))
                            .isDone()
                            .unpackedEntries());
            assertFound(unseen);
        }
    }

    @Test
    @DisplayName(
            "B8 the newest manifest is damaged, and the last sound one is sealed: lookups request"
                    + " unpacked entries")
    void damagedUnsealing() {
        packs.publish(packed);
        packs.compactAndSeal();
        publishUnpacked(unpacked);
        String key = store().keys().stream()
                .filter(name -> name.contains("/m/0"))
                .max(String::compareTo)
                .orElseThrow();
        store().place(key, Arrays.copyOf(store().body(key), 30), store().marks(key));
        assertFound(unpacked);
    }

    @Test
    @DisplayName(
            "B8 the hint of a sealed target was removed, and an entry published unpacked: found,"
                    + " also after the next commit finds the manifest by a listing")
    void sealedWithoutHint() {
        packs.publish(packed);
        packs.compactAndSeal();
        store().remove(store().keys().stream()
                .filter(name -> name.endsWith("newest"))
                .findFirst()
                .orElseThrow());
        publishUnpacked(unpacked);
        packs.publishAgain(entries.entry(50));
        assertFound(unpacked);
        assertFound(packed);
    }
}
