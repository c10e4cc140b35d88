package dev.granary.s3.pack.manifest;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.EXPIRED_403;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.pack.ForwardingStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.WithoutListing;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.store.DeadlineBound;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * Reading the newest manifest: the hints from which it is found, the number of requests, and the
 * handling of damage.
 */
class PackManifestLogTest {
    /** The marks of each manifest: the id of its write attempt. */
    private static final ObjectMarks SOMEBODY = new ObjectMarks("00".repeat(16), "");

    private final PackFixture packs = new PackFixture("PackManifestLogTest");
    private final RecordingObjectStore store = packs.store;
    private final PackManifestLog log = packs.log();

    private PackManifest newest(PackManifest known) {
        store.newRequests();
        PackManifestLog.Newest newest = log.newest(known);
        return assertThat(newest).isFound();
    }

    private void hint(String text) {
        store.place(PackFixture.KEYS.hint(), text.getBytes(US_ASCII), ObjectMarks.NONE);
    }

    private void place(PackManifest manifest) {
        byte[] body = manifest.encode();
        store.place(
                PackFixture.KEYS.manifest(manifest.number()),
                body,
                new ObjectMarks(SOMEBODY.putId(), Sha256.of(body).hex()));
    }

    /** Creates manifests 1 to {@code count}, without a hint. */
    private PackManifest chain(int count) {
        PackManifest last = PackManifest.NONE;
        for (int i = 0; i < count; i++) {
            last = new PackManifest(
                    i + 1,
                    PackManifest.UnpackedEntries.POSSIBLE,
                    List.of(PackFixture.info(packs.random(), 1)),
                    List.of());
            place(last);
        }
        return last;
    }

    @Test
    @DisplayName("R12 a target without packs costs one request")
    void none() {
        assertSame(PackManifest.NONE, newest(PackManifest.NONE));
        assertEquals(List.of("GET newest"), store.newRequests());
    }

    @Test
    @DisplayName(
            "a current hint: four requests; a known manifest that is still the newest: three; one"
                    + " older: five")
    void requests() {
        PackManifest last = chain(9);
        hint("9");
        assertArrayEquals(last.encode(), newest(PackManifest.NONE).encode());
        assertEquals(List.of("GET newest", "HEAD m9", "HEAD m10", "GET m9"), store.newRequests());
        assertSame(last, newest(last));
        assertEquals(List.of("HEAD m10", "HEAD m9", "GET newest"), store.newRequests());
        place(new PackManifest(10, PackManifest.UnpackedEntries.NONE, List.of(), List.of()));
        assertEquals(10, newest(last).number());
        assertEquals(
                List.of("HEAD m10", "HEAD m12", "HEAD m11", "GET newest", "GET m10"),
                store.newRequests());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0",
                "1",
                "7",
                " 3\n",
                "9",
                "",
                "garbage",
                "-5",
                "10",
                "4711",
                "99999999999999999999",
                "9223372036854775807",
                "1e3",
                "a text that is much longer than any number"
            })
    @DisplayName("with any hint the newest manifest is found")
    void anyHint(String text) {
        PackManifest last = chain(9);
        hint(text);
        assertArrayEquals(last.encode(), newest(PackManifest.NONE).encode());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 7, 8, 511, 512, 1000, 1023, 1024})
    @DisplayName(
            "from a hint that was never advanced the newest of n manifests is found with about 2"
                    + " log n requests")
    void galloping(int count) {
        PackManifest last = chain(count);
        hint("0");
        assertArrayEquals(last.encode(), newest(PackManifest.NONE).encode());
        int log2 = Integer.SIZE - Integer.numberOfLeadingZeros(count);
        assertTrue(store.namedRequests().size() <= 2 * log2 + 3, store.namedRequests()::toString);
    }

    @Test
    @DisplayName(
            "D6 R18 a damaged newest manifest: the one before it counts under its number, and the"
                    + " next commit continues from there")
    void damagedNewest() {
        PackInfo first = packs.publish(packs.pack());
        PackInfo second = packs.publish(packs.pack());
        PackManifest known = packs.newest();
        packs.publish(packs.pack());
        store.place(PackFixture.KEYS.manifest(3), new byte[77], SOMEBODY);
        for (PackManifest start : List.of(PackManifest.NONE, known)) {
            PackManifest read = newest(start);
            assertEquals(3, read.number());
            assertEquals(
                    List.of(first.name(), second.name()),
                    read.packs().stream().map(PackInfo::name).toList());
        }
        PackInfo fourth = packs.publish(packs.pack());
        PackManifest after = newest(PackManifest.NONE);
        assertEquals(4, after.number());
        assertEquals(
                List.of(first.name(), second.name(), fourth.name()),
                after.packs().stream().map(PackInfo::name).toList());
    }

    @Test
    @DisplayName("D6 a manifest under the key of another number is damaged")
    void misplaced() {
        chain(3);
        hint("3");
        byte[] second = store.body(PackFixture.KEYS.manifest(2));
        store.place(
                PackFixture.KEYS.manifest(3), store.body(PackFixture.KEYS.manifest(1)), SOMEBODY);
        PackManifest read = newest(PackManifest.NONE);
        assertEquals(3, read.number());
        PackManifest expected = assertThat(PackManifest.decode(second)).isOk();
        assertEquals(expected.packs().getFirst().name(), read.packs().getFirst().name());
    }

    @Test
    @DisplayName("D6 many damaged manifests in a row: a reader retains what it knows")
    void manyDamaged() {
        PackManifest known = packs.commit(PackFixture.info(packs.random(), 2));
        for (int i = 2; i <= 30; i++) {
            store.place(PackFixture.KEYS.manifest(i), new byte[1], SOMEBODY);
        }
        PackManifest read = newest(known);
        assertEquals(30, read.number());
        assertEquals(known.packs().getFirst().name(), read.packs().getFirst().name());
        assertEquals(List.of(), newest(PackManifest.NONE).packs());
    }

    @Test
    @DisplayName(
            "a manifest of a newer version is no damage: a reader retains what it knows, and no"
                    + " writer commits over it")
    void newerVersion() {
        PackInfo pack = packs.publish(packs.pack());
        byte[] newer = new PackManifest(
                        2, PackManifest.UnpackedEntries.POSSIBLE, List.of(pack), List.of())
                .encode();
        ByteBuffer.wrap(newer).putInt(8, 2).putInt(newer.length - 4, 0);
        ByteBuffer.wrap(newer).putInt(newer.length - 4, PackIndex.crc(newer, 0, newer.length - 4));
        store.place(PackFixture.KEYS.manifest(2), newer, SOMEBODY);
        String cause = assertThat(log.newest(PackManifest.NONE)).isUnavailable();
        assertTrue(cause.contains("newer version"), cause);
        assertThat(log.commit(base -> ManifestPlan.commit(base.plus(pack)))).isFailed();
        assertArrayEquals(newer, store.body(PackFixture.KEYS.manifest(2)));
        assertTrue(store.keys().stream().noneMatch(PackFixture.KEYS.manifest(3)::equals));
    }

    @Test
    @DisplayName("R18 the bucket was emptied: a reader discards the manifest that it knew, whatever"
            + " numbers followed")
    void emptied() {
        PackManifest known = chain(5);
        hint("5");
        store.keys().forEach(store::remove);
        assertSame(PackManifest.NONE, newest(known));
        assertEquals(List.of("HEAD m6", "HEAD m5", "GET newest"), store.newRequests());
        for (int i = 1; i <= 8; i++) {
            PackManifest again = packs.commit(PackFixture.info(packs.random(), 1));
            assertEquals(i, again.number());
            assertEquals(i, newest(known).number());
            assertEquals(
                    again.packs().getLast().name(),
                    newest(known).packs().getLast().name());
        }
    }

    @Test
    @DisplayName(
            "R18 B4 a known manifest is the newest one only while the bucket has those bytes: not"
                    + " those of another chain, and not truncated")
    void replacedInPlace() {
        PackManifest known = chain(2);
        hint("2");
        assertSame(known, newest(known));
        PackManifest other = new PackManifest(
                2,
                known.unpackedEntries(),
                List.of(PackFixture.info(packs.random(), 1)),
                List.of());
        assertEquals(known.encode().length, other.encode().length);
        place(other);
        assertEquals(
                other.packs().getFirst().name(),
                newest(known).packs().getFirst().name());
        byte[] whole = known.encode();
        store.place(
                PackFixture.KEYS.manifest(2),
                Arrays.copyOf(whole, whole.length - 1),
                new ObjectMarks(SOMEBODY.putId(), Sha256.of(whole).hex()));
        assertEquals(
                newest(PackManifest.NONE).packs().getFirst().name(),
                newest(known).packs().getFirst().name());
        for (PackManifest stripped : List.of(known, other)) { // by a proxy that strips metadata
            byte[] body = stripped.encode();
            store.place(PackFixture.KEYS.manifest(2), body, ObjectMarks.NONE);
            assertEquals(
                    stripped.packs().getFirst().name(),
                    newest(known).packs().getFirst().name());
        }
        store.place(
                PackFixture.KEYS.manifest(2),
                Arrays.copyOf(whole, whole.length + 1),
                ObjectMarks.NONE);
        assertEquals(
                newest(PackManifest.NONE).packs().getFirst().name(),
                newest(known).packs().getFirst().name());
    }

    @Test
    @DisplayName("R18 B2 a known manifest was removed, and absent is 403: the hint leads on")
    void removedBehind403() {
        PackManifest known = chain(3);
        PackManifest last = new PackManifest(
                6,
                PackManifest.UnpackedEntries.POSSIBLE,
                List.of(PackFixture.info(packs.random(), 1)),
                List.of());
        place(last);
        hint("6");
        store.remove(PackFixture.KEYS.manifest(3));
        PackManifestLog.Newest newest = packs.log(new WithoutListing(store)).newest(known);
        assertEquals(6, assertThat(newest).isFound().number());
    }

    /** The store of a lookup: requests must end soon, so nothing may be listed. */
    static final class LookupStore extends ForwardingStore implements DeadlineBound {
        LookupStore(ObjectStore to) {
            super(to);
        }

        @Override
        public long remainingNanos() {
            return Long.MAX_VALUE;
        }

        @Override
        public ListResult list(String prefix, Consumer<ObjectStore.Listed> visitor) {
            throw new AssertionError("a lookup lists nothing");
        }
    }

    private PackManifest placeManifest(long number) {
        PackManifest manifest = new PackManifest(
                number,
                PackManifest.UnpackedEntries.POSSIBLE,
                List.of(PackFixture.info(packs.random(), 1)),
                List.of());
        place(manifest);
        return manifest;
    }

    @Test
    @DisplayName("B5 the hint names a missing manifest: a lookup continues from there without a"
            + " listing, or reports that it cannot")
    void goneForLookups() {
        ObjectStore lookupStore = new LookupStore(store);
        hint("0");
        assertEquals(
                new PackManifestLog.Newest.Found(PackManifest.NONE),
                packs.log(lookupStore).newest(PackManifest.NONE),
                "the first commit is under way");
        hint("5");
        placeManifest(8);
        PackManifestLog.Newest newest = packs.log(lookupStore).newest(PackManifest.NONE);
        assertTrue(assertThat(newest).isUnavailable().contains("must be listed"));
        assertEquals(8, newest(PackManifest.NONE).number(), "who may list finds it");
        placeManifest(6);
        placeManifest(7);
        newest = packs.log(lookupStore).newest(PackManifest.NONE);
        assertEquals(8, assertThat(newest).isFound().number());
    }

    @Test
    @DisplayName(
            "B5 B2 the hint names a missing manifest, and listing is forbidden: unavailable for"
                    + " all callers, and no absence")
    void goneAndNotListed() {
        hint("5");
        placeManifest(8);
        PackManifestLog limited = packs.log(new WithoutListing(store));
        for (PackManifestLog.Newest newest :
                List.of(limited.newest(PackManifest.NONE), limited.confirmed())) {
            assertTrue(assertThat(newest).isUnavailable().contains("allow s3:ListBucket"));
        }
    }

    @Test
    @DisplayName("B5 only manifests in a listing count, the last ones, and later ones as well")
    void listed() {
        hint("5");
        for (int i = 20; i <= 50; i++) {
            placeManifest(i);
        }
        // a page of a proxy
        store.place(PackFixture.KEYS.manifest(60), new byte[30], ObjectMarks.NONE);
        placeManifest((1L << 43) + 1); // a number that commits do not reach
        placeManifest(51);
        ObjectStore lagging = new ForwardingStore(store) {
            @Override
            public ListResult list(String prefix, Consumer<ObjectStore.Listed> visitor) {
                return super.list(prefix, object -> {
                    if (!object.key().equals(PackFixture.KEYS.manifest(51))) {
                        visitor.accept(object);
                    }
                });
            }
        };
        PackManifestLog.Newest newest = packs.log(lagging).newest(PackManifest.NONE);
        assertEquals(51, assertThat(newest).isFound().number());
    }

    @Test
    @DisplayName("R18 old manifests were removed, a reader's own among them: the hint leads on")
    void oldOnesRemoved() {
        chain(40);
        PackManifest known =
                new PackManifest(3, PackManifest.UnpackedEntries.POSSIBLE, List.of(), List.of());
        hint("38");
        for (int i = 1; i <= 30; i++) {
            store.remove(PackFixture.KEYS.manifest(i));
        }
        assertEquals(40, newest(known).number());
    }

    @Test
    @DisplayName(
            "a bucket that is silent at any of the requests: unavailable, never another manifest")
    void silence() {
        PackManifest last = chain(5);
        hint("3");
        newest(PackManifest.NONE);
        int requests = store.newRequests().size();
        for (int silent = 0; silent < requests; silent++) {
            for (int before = 0; before < silent; before++) {
                store.script(new Fault.None());
            }
            store.script(new Fault.Lost(silent % 2 == 0 ? TIMEOUT : EXPIRED_403));
            assertThat(log.newest(PackManifest.NONE)).isUnavailable();
            for (int before = 0; before < silent; before++) {
                store.script(new Fault.None());
            }
            // an absent object has it, too, if listing is forbidden
            store.script(new Fault.Lost(DENIED));
            assertTrue(!(log.newest(PackManifest.NONE)
                            instanceof PackManifestLog.Newest.Found(PackManifest found))
                    || found.number() == last.number());
            assertArrayEquals(last.encode(), newest(PackManifest.NONE).encode());
        }
    }
}
