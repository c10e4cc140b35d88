package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.contract.TestKeys;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.format.TrustPolicy.Mode;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Tests of directories in which others have written, and whose entries must be signed. */
class TrustTest {
    private static final EntrySigner CI = TestKeys.signer("ci", 1);
    private static final TrustPolicy REQUIRE = TestKeys.policy(Mode.REQUIRE, "ci", 1);

    private final TestEntries entries = new TestEntries("local.TrustTest");
    private final Entry entry = entries.entry(500);

    @TempDir
    private Path directory;

    private PersistentCache open(boolean isShared, TrustPolicy trust) throws Exception {
        return isShared
                ? new SharedDirectory(directory, true, trust)
                : LocalTier.open(LocalTierConfig.builder(directory).trust(trust).build());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @DisplayName("an unsigned entry is untrusted and stays for others, until a signed one takes its"
            + " place, whatever the content")
    void replaced(boolean isShared) throws Exception {
        Entry evil = TestEntries.entry(entry.id(), KernelBinaries.of(new byte[] {6, 6, 6}));
        for (Entry first : List.of(entry, evil, TestKeys.signer("laptop", 2).sign(evil))) {
            try (PersistentCache others = open(isShared, TrustPolicy.OFF);
                    PersistentCache trusting = open(isShared, REQUIRE)) {
                assertThat(others.store(first)).isStored();
                assertThat(trusting.load(entry.id())).isDamaged(DamageKind.UNTRUSTED);
                assertThat(others.load(entry.id())).isHitOf(first);
                assertThat(trusting.store(entry)).isRefused();
                assertThat(trusting.store(CI.sign(entry))).isStored();
                assertThat(trusting.load(entry.id())).isHitOf(CI.sign(entry));
                assertThat(trusting.store(CI.sign(entry))).isDuplicate();
                assertThat(others.store(entry)).isDuplicate(); // the signature stays
                assertThat(trusting.load(entry.id())).isHitOf(entry);
            }
            for (StoredEntry each : StoredEntry.in(directory)) {
                Files.delete(each.file());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @DisplayName("with warn, all are used, and a signed entry takes the place of an unsigned one")
    void warn(boolean isShared) throws Exception {
        try (PersistentCache others = open(isShared, TrustPolicy.OFF);
                PersistentCache warning = open(isShared, TestKeys.policy(Mode.WARN, "ci", 1));
                PersistentCache trusting = open(isShared, REQUIRE)) {
            assertThat(others.store(entry)).isStored();
            assertThat(warning.load(entry.id())).isHitOf(entry);
            assertThat(warning.store(CI.sign(entry))).isStored();
            assertThat(trusting.load(entry.id())).isHitOf(entry);
            assertEquals(1, StoredEntry.in(directory).size());
        }
    }
}
