package dev.granary.s3.pack.manifest;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.format.IdBloomFilter;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ServerTimestamps;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.random.RandomGenerator;

/** Manifests and indexes with valid checksums that are designed to cost their readers much. */
class HostilePacksTest {
    private final PackFixture packs = new PackFixture("HostilePacksTest");
    private final RandomGenerator random = packs.random();

    /**
     * Returns the row of a pack that consists almost only of an index. The filter's bits do not
     * matter.
     */
    private PackInfo info(int entries) {
        IdBloomFilter filter = IdBloomFilter.of(new AbstractList<Sha256>() {
            private final Sha256 same = PackFixture.hash(random);

            @Override
            public Sha256 get(int index) {
                return same;
            }

            @Override
            public int size() {
                return entries;
            }
        });
        long indexOffset = PackIndex.HEADER_BYTES + (long) entries;
        return new PackInfo(
                PackFixture.hash(random),
                indexOffset + (long) entries * PackIndex.ROW_BYTES + PackIndex.FOOTER_BYTES,
                indexOffset,
                entries,
                0,
                filter);
    }

    private static PackManifest manifest(List<PackInfo> packs) {
        return new PackManifest(1, PackManifest.UnpackedEntries.POSSIBLE, packs, List.of());
    }

    @Test
    @DisplayName(
            "T5 a manifest that declares an index above the limit is refused before the pack is"
                    + " read")
    void largeIndex() {
        assertThat(PackManifest.decode(
                        manifest(List.of(info(PackInfo.MAX_ENTRIES))).encode()))
                .isOk();
        PackManifest.Read read = PackManifest.decode(
                manifest(List.of(info(PackInfo.MAX_ENTRIES + 1))).encode());
        assertThat(read).isBad(DamageKind.CORRUPT);
    }

    @Test
    @DisplayName(
            "T5 a manifest of more entries than the limit is refused, since their indexes would be"
                    + " held in memory; none is committed")
    void manyEntries() {
        List<PackInfo> most = new ArrayList<>();
        PackInfo full = info(PackInfo.MAX_ENTRIES);
        for (int i = 0; i < PackManifest.MAX_ENTRIES / PackInfo.MAX_ENTRIES; i++) {
            most.add(new PackInfo(
                    PackFixture.hash(random),
                    full.bytes(),
                    full.indexOffset(),
                    full.entries(),
                    0,
                    full.filter()));
        }
        PackManifest readable = manifest(most);
        assertTrue(readable.isReadable());
        assertThat(PackManifest.decode(readable.encode())).isOk();
        PackManifest larger = readable.plus(info(1));
        assertThat(PackManifest.decode(larger.encode())).isBad(DamageKind.TOO_LARGE);
        PackManifestLog.Committed<?> committed = packs.log()
                .commit(base -> ManifestPlan.commit(new PackManifest(
                        base.number() + 1, larger.unpackedEntries(), larger.packs(), List.of())));
        assertTrue(assertThat(committed).isFailed().contains("compact"), committed::toString);
    }

    @Test
    @DisplayName("T5 an index whose entries overlap, so that a few bytes are read repeatedly, is"
            + " refused")
    void overlapping() {
        List<PackLocation> locations = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            locations.add(
                    new PackLocation(PackFixture.hash(random), PackIndex.HEADER_BYTES, 40, 0, 0));
        }
        locations.sort(Comparator.comparing(
                PackLocation::id, (a, b) -> Arrays.compareUnsigned(a.bytes(), b.bytes())));
        long end = PackIndex.HEADER_BYTES + 100L;
        assertThat(PackIndex.decode(
                        PackIndex.encode(locations.subList(0, 2), end, PackFixture.NAMESPACE),
                        end,
                        PackFixture.NAMESPACE))
                .isOk();
        assertThat(PackIndex.decode(
                        PackIndex.encode(locations, end, PackFixture.NAMESPACE),
                        end,
                        PackFixture.NAMESPACE))
                .isBad();
    }

    @Test
    @DisplayName(
            "T5 a server that returns a manifest of every number does not keep a reader searching"
                    + " for the last one")
    void everyNumber() {
        MemoryObjectStore endless = new MemoryObjectStore() {
            @Override
            public synchronized HeadResult head(String key) {
                return new HeadResult.Found(
                        1, "v", ServerTimestamps.NONE, new ObjectMarks("00".repeat(16), ""));
            }
        };
        for (String hint : List.of("0", "1", Long.toString(Long.MAX_VALUE))) {
            endless.place(PackFixture.KEYS.hint(), hint.getBytes(US_ASCII), ObjectMarks.NONE);
            assertThat(packs.log(endless).newest(PackManifest.NONE)).isUnavailable();
        }
    }
}
