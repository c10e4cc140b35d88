package dev.granary.s3.pack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * Lost packs are removed from the manifest; an existing pack never is, whatever a server returns
 * once or twice.
 */
class LostPackFinderTest {
    private static final StoreFailure DOWN =
            new StoreFailure(StoreFailure.Kind.SERVER, 503, "SlowDown", "");
    private static final StoreFailure DENIED =
            new StoreFailure(StoreFailure.Kind.DENIED, 403, "AccessDenied", "Access Denied");

    private final PackFixture bucket = new PackFixture("LostPackFinderTest");
    private final TestEntries made = new TestEntries("LostPackFinderTest");

    private PackInfo pack() {
        return bucket.publish(made.entry(100));
    }

    private static Set<Sha256> lost(ObjectStore store, PackInfo... packs) {
        return assertInstanceOf(
                        LostPackFinder.SearchResult.Lost.class,
                        new LostPackFinder(store, PackFixture.KEYS).find(List.of(packs)))
                .names();
    }

    @Test
    @DisplayName(
            "S12 packs are removed from the bucket: the manifest then names the existing ones, and"
                    + " a second call changes nothing")
    void forgotten() {
        PackInfo first = pack();
        PackInfo second = pack();
        PackInfo third = pack();
        assertEquals(new PackPublisher.Forgotten.Done(0), bucket.publisher().forgetLost());
        assertEquals(3, bucket.newest().number());
        bucket.remove(first);
        bucket.remove(third);
        assertEquals(new PackPublisher.Forgotten.Done(2), bucket.publisher().forgetLost());
        assertEquals(
                List.of(second.name()),
                bucket.newest().packs().stream().map(PackInfo::name).toList());
        assertEquals(new PackPublisher.Forgotten.Done(0), bucket.publisher().forgetLost());
        assertEquals(4, bucket.newest().number());
    }

    @Test
    @DisplayName(
            "S12 lost packs that stay named: the cause is reported if the listing or the commit"
                    + " failed, or its outcome is unknown")
    void notForgotten() {
        bucket.remove(pack());
        assertFailed(
                "could not be listed: 503 SlowDown",
                new WronglyAbsent(bucket.store, 0, new ListResult.Unavailable(DOWN)));
        assertFailed(
                "could not be committed: 403 AccessDenied",
                new CannotCreate(bucket.store, new WriteResult.NotAllowed(DENIED)));
        assertFailed(
                "the outcome of the commit is unknown: 503 SlowDown",
                new CannotCreate(bucket.store, new WriteResult.Unknown(DOWN)));
        assertEquals(1, bucket.newest().packs().size());
    }

    private void assertFailed(String cause, ObjectStore store) {
        PackPublisher.Forgotten forgotten = bucket.publisher(store).forgetLost();
        assertTrue(
                assertInstanceOf(PackPublisher.Forgotten.Failed.class, forgotten)
                        .cause()
                        .contains(cause),
                forgotten::toString);
    }

    /** Responds to each creation with a given result, and carries none out. */
    private static final class CannotCreate extends ForwardingStore {
        private final WriteResult answer;

        CannotCreate(ObjectStore to, WriteResult answer) {
            super(to);
            this.answer = answer;
        }

        @Override
        public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
            return answer;
        }
    }

    @Test
    @DisplayName("S12 a sealed manifest stays sealed")
    void sealed() {
        bucket.remove(pack());
        bucket.seal();
        bucket.publisher().forgetLost();
        assertEquals(
                new PackManifest(
                        3,
                        PackManifest.UnpackedEntries.NONE,
                        List.of(),
                        bucket.newest().retired()),
                bucket.newest());
    }

    @Test
    @DisplayName("S12 a truncated pack is lost")
    void cut() {
        PackInfo pack = pack();
        String key = PackFixture.KEYS.pack(pack.name());
        byte[] body = bucket.store.body(key);
        bucket.store.place(key, Arrays.copyOf(body, body.length / 2), ObjectMarks.NONE);
        assertEquals(Set.of(pack.name()), lost(bucket.store, pack));
    }

    /** Responds that many times that a pack is absent. */
    private static final class WronglyAbsent extends ForwardingStore {
        private final AtomicInteger wrongResponses;
        private final ListResult listing;

        WronglyAbsent(ObjectStore to, int wrongResponses, ListResult listing) {
            super(to);
            this.wrongResponses = new AtomicInteger(wrongResponses);
            this.listing = listing;
        }

        @Override
        public HeadResult head(String key) {
            return wrongResponses.getAndDecrement() > 0 ? HeadResult.ABSENT : super.head(key);
        }

        @Override
        public ListResult list(String prefix, Consumer<Listed> visitor) {
            return listing;
        }
    }

    @Test
    @DisplayName("a listing shows the pack: not lost, whatever requests for the pack return")
    void listed() {
        PackInfo pack = pack();
        assertEquals(
                Set.of(),
                lost(
                        new ForwardingStore(bucket.store) {
                            @Override
                            public HeadResult head(String key) {
                                return HeadResult.ABSENT;
                            }
                        },
                        pack));
    }

    @Test
    @DisplayName("a lagging listing and one wrong response for the pack: not lost")
    void oneWrongAnswer() {
        PackInfo pack = pack();
        assertEquals(
                Set.of(),
                lost(new WronglyAbsent(bucket.store, 1, new ListResult.Complete(0)), pack));
    }

    @Test
    @DisplayName("a failed listing proves nothing of any pack: not lost, and no pack is requested")
    void unlisted() {
        PackInfo pack = pack();
        bucket.store.newRequests();
        LostPackFinder finder = new LostPackFinder(
                new WronglyAbsent(bucket.store, 9, new ListResult.Unavailable(DOWN)),
                PackFixture.KEYS);
        assertEquals(new LostPackFinder.SearchResult.Unavailable(DOWN), finder.find(List.of(pack)));
        assertEquals(List.of(), bucket.store.newRequests());
    }

    @Test
    @DisplayName("the bucket does not report the presence of a pack: not lost")
    void unavailable() {
        PackInfo pack = pack();
        bucket.remove(pack);
        assertEquals(
                Set.of(),
                lost(
                        new ForwardingStore(bucket.store) {
                            @Override
                            public HeadResult head(String key) {
                                return new HeadResult.Unavailable(DOWN);
                            }
                        },
                        pack));
    }

    @Test
    @DisplayName(
            "B2 without s3:ListBucket, where absent is 403: requests for the packs show which are"
                    + " lost")
    void withoutListing() {
        PackInfo gone = pack();
        PackInfo there = pack();
        bucket.remove(gone);
        ObjectStore limited = new ForwardingStore(bucket.store) {
            @Override
            public HeadResult head(String key) {
                return super.head(key) instanceof HeadResult.Found found
                        ? found
                        : new HeadResult.Unavailable(DENIED);
            }

            @Override
            public ListResult list(String prefix, Consumer<Listed> visitor) {
                return new ListResult.Unavailable(DENIED);
            }
        };
        assertEquals(Set.of(gone.name()), lost(limited, gone, there));
    }
}
