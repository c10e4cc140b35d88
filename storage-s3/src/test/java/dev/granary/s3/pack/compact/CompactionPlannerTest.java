package dev.granary.s3.pack.compact;

import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.ForwardingStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.PackWriter;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.listing.ListedEntrySet;
import dev.granary.s3.pack.listing.PackListing;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.IntPredicate;

/**
 * Packs that count as lost if the bucket refuses reads or its responses differ: lost packs are no
 * longer named.
 */
class CompactionPlannerTest {
    private static final StoreFailure NO =
            new StoreFailure(StoreFailure.Kind.DENIED, 403, "AccessDenied", "Access Denied");

    private final PackFixture bucket = new PackFixture("CompactionPlannerTest");
    private final TestEntries entries = new TestEntries("CompactionPlannerTest");
    private final PackInfo pack = bucket.publish(entries.entry(100), entries.entry(100));

    private PackCompactor.Planned plan(ObjectStore over, PackIndexCache indexCache) {
        PackCompactor compaction = new PackCompactor(
                over,
                PackFixture.KEYS,
                indexCache,
                bucket.log(over),
                new PackWriter(over, bucket.random(), _ -> {}),
                bucket.random());
        return compaction.plan(Duration.ofDays(1));
    }

    private long lost(ObjectStore over) {
        PackCompactor.Planned planned = plan(over, PackIndexCache.NONE);
        return assertThat(planned).isReady().lost();
    }

    /** A store that returns 403 for reads of packs; the predicate selects them, counted from 1. */
    private ObjectStore forbidding(IntPredicate which) {
        int[] reads = {0};
        return new ForwardingStore(bucket.store) {
            @Override
            public GetResult range(String key, long offset, int length, byte[] into) {
                return which.test(++reads[0])
                        ? new GetResult.Unavailable(NO)
                        : super.range(key, offset, length, into);
            }

            @Override
            public HeadResult head(String key) {
                return key.endsWith(".pack") && which.test(++reads[0])
                        ? new HeadResult.Unavailable(NO)
                        : super.head(key);
            }
        };
    }

    @Test
    @DisplayName("B2 a listing shows a pack, and all reads of it return 403: it is not lost, and"
            + " nothing is planned")
    void listedAndForbidden() throws Exception {
        PackCompactor.Planned planned = plan(forbidding(_ -> true), PackIndexCache.NONE);
        String cause = assertThat(planned).isUnavailable();
        assertTrue(cause.contains("AccessDenied"), cause);
        PackListing listing = new PackListing(
                forbidding(_ -> true), PackFixture.KEYS, PackIndexCache.NONE, bucket.log());
        Map<String, Long> written = Map.of(PackFixture.KEYS.pack(pack.name()), 1L);
        assertThrows(IOException.class, () -> listing.list(new ListedEntrySet(), written, _ -> {}));
    }

    @Test
    @DisplayName("B2 a listing does not show a pack, and reads of it return 403: it is lost")
    void goneAndForbidden() {
        bucket.remove(pack);
        assertEquals(1, lost(forbidding(_ -> true)));
    }

    @Test
    @DisplayName("B2 R18 the first responses to reads of a pack are 403, or one is 404: requested"
            + " again, and not lost")
    void forbiddenOnce() {
        assertEquals(0, lost(forbidding(read -> read <= 2)));
        int[] reads = {0};
        assertEquals(0, lost(new ForwardingStore(bucket.store) {
            @Override
            public GetResult range(String key, long offset, int length, byte[] into) {
                return ++reads[0] == 1 ? GetResult.ABSENT : super.range(key, offset, length, into);
            }
        }));
    }

    @Test
    @DisplayName(
            "B1 a cached index, a listing without its pack, and no response for the pack: neither"
                    + " present nor lost")
    void unlistedAndSilent(@TempDir Path indexDirectory) {
        PackIndexCache indexCache = bucket.indexCache(indexDirectory);
        assertInstanceOf(
                PackIndexReader.IndexResult.Ok.class,
                PackIndexReader.read(pack, PackFixture.KEYS, indexCache, bucket.store));
        ObjectStore lagging = new ForwardingStore(bucket.store) {
            @Override
            public ListResult list(String prefix, Consumer<Listed> visitor) {
                return prefix.equals(PackFixture.KEYS.packPrefix())
                        ? new ListResult.Complete(0)
                        : super.list(prefix, visitor);
            }

            @Override
            public HeadResult head(String key) {
                return key.endsWith(".pack")
                        ? new HeadResult.Unavailable(TIMEOUT)
                        : super.head(key);
            }
        };
        PackCompactor.Planned planned = plan(lagging, indexCache);
        assertThat(planned).isUnavailable();
    }
}
