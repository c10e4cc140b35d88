package dev.granary.cli.place;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeCatalog;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;

/** Counts of a verification, and removals of a repair. */
class EntryVerifierTest {
    private final TestEntries entries = new TestEntries("EntryVerifierTest");
    private final FakeCatalog catalog = new FakeCatalog();
    private final List<EntryCatalog.Listed> removed = new ArrayList<>();

    private EntryVerifier verify() {
        return EntryVerifier.all(catalog, catalog.all(), _ -> false, _ -> {});
    }

    private EntryVerifier repair() {
        return EntryVerifier.all(catalog, catalog.all(), removed::add, _ -> {});
    }

    @Test
    @DisplayName("Sound entries are counted with their bytes; nothing is removed")
    void sound() {
        catalog.add(entries.entry(100));
        catalog.add(entries.entry(0));
        EntryVerifier verifier = repair();
        assertEquals(new EntryVerifier.Count(2, 2000), verifier.found("sound"));
        assertTrue(verifier.isHealthy());
        assertEquals(List.of(), verifier.bad());
        assertEquals(List.of(), removed);
    }

    @ParameterizedTest
    @EnumSource(DamageKind.class)
    @DisplayName(
            "D6 each kind of damage is counted, named, and removed by a repair; entries of other"
                    + " versions stay (K11)")
    void damage(DamageKind damage) {
        catalog.add(entries.entry(100));
        EntryCatalog.Listed damagedEntry = catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {1}),
                new LoadResult.Damaged(damage, "for a test"));
        boolean isOther = damage == DamageKind.TOO_NEW || damage == DamageKind.TOO_OLD;
        EntryVerifier verifier = verify();
        assertEquals(
                new EntryVerifier.Count(1, damagedEntry.bytes()),
                verifier.found(EntryVerifier.name(damage)));
        assertEquals(
                List.of(new EntryVerifier.Bad(
                        damagedEntry, EntryVerifier.name(damage), "for a test", false)),
                verifier.bad());
        assertEquals(isOther, verifier.isHealthy());
        assertEquals(1, verifier.found("sound").entries());

        EntryVerifier repaired = repair();
        assertTrue(repaired.isHealthy());
        assertEquals(isOther ? List.of() : List.of(damagedEntry), removed);
        assertEquals(isOther ? 0 : 1, repaired.removed().entries());
    }

    @Test
    @DisplayName("An unreadable or remaining damaged entry is unhealthy; an entry that is removed"
            + " meanwhile is not")
    void unreadable() {
        catalog.add(TestEntries.TARGET.path(), Sha256.of(new byte[] {1}), LoadResult.ABSENT);
        assertTrue(repair().isHealthy());
        catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {2}),
                new LoadResult.Unavailable("the disk is broken"));
        EntryVerifier verifier = repair();
        assertFalse(verifier.isHealthy());
        assertEquals(1, verifier.found("unreadable").entries());
        assertEquals("unreadable", verifier.bad().getFirst().found());
        assertEquals(List.of(), removed);
        catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {3}),
                new LoadResult.Damaged(DamageKind.CORRUPT, ""));
        assertEquals(0, verify().removed().entries());
        assertFalse(verify().isHealthy());
    }

    @Test
    @DisplayName("A repaired entry does not compensate for an unreadable one")
    void repairedAndUnreadable() {
        catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {1}),
                new LoadResult.Damaged(DamageKind.CORRUPT, ""));
        catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {2}),
                new LoadResult.Unavailable("the disk is broken"));
        assertFalse(repair().isHealthy());
    }
}
