package dev.granary.cache.format;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.contract.TestKeys;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.format.TrustPolicy.Mode;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.security.PublicKey;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/** Tests of signatures and of the policies that require them. */
class EntrySignatureTest {
    private static final EntrySigner CI = TestKeys.signer("ci", 1);

    private final TrustPolicy policy = TestKeys.policy(Mode.REQUIRE, "ci", 1);
    private final Entry entry = new TestEntries("EntrySignatureTest").entry(1000);
    private final Entry signed = CI.sign(entry);

    private static Entry stored(Entry entry, Compression compression) {
        return assertThat(EntryFormat.decode(
                        MemorySegment.ofArray(EntryFormat.encode(entry, compression)),
                        entry.id(),
                        VerificationLevel.CHECKSUMS))
                .isHit();
    }

    /** Returns the signature of an entry on another one, as an attacker moves it. */
    private static Entry withSignatureOf(Entry signed, Entry other) {
        return EntryFormat.signed(other, EntrySignature.of(signed).orElseThrow(), null);
    }

    private void assertRefused(String cause, Entry presented) {
        LoadResult checked = policy.check(new LoadResult.Hit(presented));
        assertEquals(new LoadResult.Damaged(DamageKind.UNTRUSTED, cause), checked);
        assertTrue(policy.refusal(presented).isPresent());
    }

    @Test
    @DisplayName("a signature survives storing, compressing and storing again")
    void survives() {
        Entry again = stored(stored(signed, Compression.ZSTD), Compression.NONE);
        for (Entry each : List.of(signed, again)) {
            LoadResult hit = new LoadResult.Hit(each);
            assertEquals(hit, policy.check(hit));
            assertEquals(hit, policy.check(hit), "remembered");
            assertEquals(Optional.empty(), policy.refusal(each));
        }
        assertEquals(entry.metadata(), again.metadata());
        assertEquals(entry.contentHash(), again.contentHash());
        int bytes = EntryFormat.encode(signed, Compression.NONE).length
                - EntryFormat.encode(entry, Compression.NONE).length;
        assertEquals(72, bytes);
    }

    @Test
    @DisplayName("unsigned, by an unknown or a revoked key, by a foreign key of the same name")
    void notTrusted() {
        assertRefused("it is not signed", entry);
        assertRefused(
                "it is signed by laptop, which is not trusted here",
                TestKeys.signer("laptop", 2).sign(entry));
        assertRefused(
                "it is signed by old, which was revoked",
                TestKeys.signer("old", 3).sign(entry));
        assertRefused(
                "the signature by ci is of something else",
                TestKeys.signer("ci", 2).sign(entry));
    }

    @Test
    @DisplayName("a signature of an entry with any other id, target, binary, compile time or"
            + " metadata does not count")
    void altered() {
        EntryMetadata metadata = entry.metadata().orElseThrow();
        Id moved = entry.id().withTarget(TestEntries.OTHER_TARGET);
        byte[] changed = entry.binaries().toByteArrays().getFirst();
        changed[999] ^= 1;
        KernelBinaries split = KernelBinaries.of(new byte[0], changed);
        EntryMetadata later = new EntryMetadata(
                metadata.granaryVersion(),
                metadata.producer(),
                Instant.EPOCH,
                metadata.kernels(),
                metadata.geometries(),
                metadata.readableKey());
        for (Entry other : List.of(
                Entry.of(moved, entry.binaries(), entry.compileTime(), metadata),
                Entry.of(TestEntries.id("other"), entry.binaries(), entry.compileTime(), metadata),
                Entry.of(entry.id(), KernelBinaries.of(changed), entry.compileTime(), metadata),
                Entry.of(entry.id(), split, entry.compileTime(), metadata),
                Entry.of(entry.id(), entry.binaries(), Duration.ofMillis(251), metadata),
                Entry.of(entry.id(), entry.binaries(), entry.compileTime(), later))) {
            Entry forged = withSignatureOf(signed, other);
            assertRefused("the signature by ci is of something else", forged);
            assertRefused(
                    "the signature by ci is of something else", stored(forged, Compression.NONE));
        }
    }

    @Test
    @DisplayName(
            "binaries changed below a header that states the old content hash are refused, also"
                    + " after the sound entry was verified")
    void headerLies() {
        assertEquals(Optional.empty(), policy.refusal(signed));
        byte[] changed = entry.binaries().toByteArrays().getFirst();
        changed[0] ^= 1;
        Entry lying = Entry.ofStored(
                entry.id(),
                KernelBinaries.of(changed),
                entry.compileTime(),
                entry.contentHash(),
                signed.metadataSource());
        assertRefused("the signature by ci is of something else", stored(lying, Compression.NONE));
    }

    @Test
    @DisplayName("warn uses any entry, and prefers signed ones; off looks at none")
    void modes() {
        TrustPolicy warn = TestKeys.policy(Mode.WARN, "ci", 1);
        assertEquals(new LoadResult.Hit(entry), warn.check(new LoadResult.Hit(entry)));
        assertEquals(Optional.empty(), warn.refusal(entry));
        assertTrue(warn.prefers(signed, entry));
        assertFalse(warn.prefers(entry, entry));
        assertFalse(warn.prefers(signed, signed));
        assertFalse(TrustPolicy.OFF.prefers(signed, entry));
        assertEquals(Optional.empty(), TrustPolicy.OFF.refusal(entry));
        assertEquals(LoadResult.ABSENT, policy.check(LoadResult.ABSENT));
        assertFalse(new TrustPolicy(Mode.REQUIRE, "", Map.of()).knows("ci"));
    }

    @Test
    @DisplayName("entries that are signed together need one check; no entry counts with"
            + " the signature of another, or with any byte of its own changed")
    void together() {
        TestEntries entries = new TestEntries("together");
        for (int size : List.of(1, 2, 3, 4, 5, 8, 9, 33)) {
            List<Entry> batch =
                    IntStream.range(0, size).mapToObj(_ -> entries.entry(100)).toList();
            List<EntrySignature> signatures =
                    CI.sign(batch.stream().map(EntrySignature::leaf).toList());
            Set<Sha256> known = new HashSet<>();
            PublicKey key = TestKeys.publicKey(1);
            PublicKey wrongKey = TestKeys.publicKey(2);
            for (int i = 0; i < size; i++) {
                Entry each = batch.get(i);
                Entry read = assertThat(EntryFormat.decode(
                                MemorySegment.ofArray(EntryFormat.withSignature(
                                        EntryBytesEditor.of(CI.sign(each), Compression.ZSTD)
                                                .bytes(),
                                        signatures.get(i))),
                                each.id(),
                                VerificationLevel.CONTENT_HASH))
                        .isHit();
                assertEquals(Optional.empty(), policy.objection(read));
                EntrySignature signature = EntrySignature.of(read).orElseThrow();
                assertTrue(
                        signature.isBy(i == 0 ? key : wrongKey, read, known), "one check for all");
                assertFalse(signature.isBy(wrongKey, read, new HashSet<>()));
                assertEquals(Optional.empty(), EntrySigner.of(read), "it was stored");
                Entry other = batch.get((i + 1) % size);
                assertEquals(
                        size == 1,
                        TestKeys.policy(Mode.REQUIRE, "ci", 1)
                                .objection(EntryFormat.signed(other, signature, null))
                                .isEmpty());
            }
        }
    }

    @Test
    @DisplayName("a signature with any byte changed does not count, unless what it is of was"
            + " verified before")
    void damaged() {
        TestEntries entries = new TestEntries("damaged");
        List<Entry> batch = List.of(entry, entries.entry(10), entries.entry(10));
        EntrySignature signature =
                CI.sign(batch.stream().map(EntrySignature::leaf).toList()).getFirst();
        byte[] section = signature.encoded().toArray(ValueLayout.JAVA_BYTE);
        assertEquals(Optional.empty(), policy.objection(withSection(section)));
        for (int i = 0; i < section.length; i++) {
            byte[] changed = section.clone();
            changed[i] ^= 2;
            for (byte[] bad : List.of(changed, Arrays.copyOf(section, i))) {
                TrustPolicy unused = TestKeys.policy(Mode.REQUIRE, "ci", 1);
                assertTrue(unused.objection(withSection(bad)).isPresent(), "byte " + i);
                if (bad == changed && i >= 4 && i < 4 + 64) { // its value
                    assertEquals(Optional.empty(), policy.objection(withSection(bad)));
                }
            }
        }
    }

    private Entry withSection(byte[] section) {
        byte[] stored = EntryBytesEditor.of(entry, Compression.NONE)
                .replace(2, section, section.length)
                .resealed()
                .bytes();
        return assertThat(EntryFormat.decode(
                        MemorySegment.ofArray(stored), VerificationLevel.CONTENT_HASH))
                .isHit();
    }

    @Test
    @DisplayName("a section of another form is no signature")
    void otherForms() {
        for (String name : List.of("CI", "-i", "c/")) {
            Entry other = EntryFormat.signed(
                    entry, new EntrySignature(name, new byte[64], 0, new byte[0]), null);
            assertEquals(Optional.empty(), EntrySignature.of(other), name);
        }
    }
}
