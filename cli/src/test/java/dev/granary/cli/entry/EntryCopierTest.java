package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
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
import java.util.Map;

/** Tests of a copier that only verifies: its counts, and the removals of a repair. */
class EntryCopierTest {
    private final TestEntries entries = new TestEntries("EntryCopierTest");
    private final FakeCatalog catalog = new FakeCatalog();
    private final List<EntryCatalog.Listed> removed = new ArrayList<>();

    private EntryCopier verify() {
        return read(EntryCopier.ofNone(_ -> false, _ -> {}));
    }

    private EntryCopier repair() {
        return read(EntryCopier.ofNone(removed::add, _ -> {}));
    }

    private EntryCopier read(EntryCopier reader) {
        catalog.all().forEach(listed -> reader.read(catalog, listed));
        return reader;
    }

    private static void assertCounts(
            EntryCopier reader, long sound, long failed, long removed, long otherVersions) {
        assertEquals(
                List.of(sound, failed, removed, otherVersions),
                List.of(
                        reader.present.sum(),
                        reader.failed.sum(),
                        reader.removed.sum(),
                        reader.otherVersions.sum()));
    }

    @Test
    @DisplayName("Sound entries are counted with their bytes; nothing is removed")
    void sound() {
        Entry first = entries.entry(100);
        Entry second = entries.entry(0);
        catalog.add(first);
        catalog.add(second);
        EntryCopier reader = repair();
        assertCounts(reader, 2, 0, 0, 0);
        assertEquals(100 + first.id().length() + second.id().length(), reader.presentBytes.sum());
        assertEquals(Map.of(), reader.failures);
        assertEquals(List.of(), removed);
    }

    @ParameterizedTest
    @EnumSource(DamageKind.class)
    @DisplayName("each kind of damage is counted, named, and removed by a repair; entries of other"
            + " versions stay")
    void damage(DamageKind damage) {
        catalog.add(entries.entry(100));
        EntryCatalog.Listed damagedEntry = catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {1}),
                new LoadResult.Damaged(damage, "for a test"));
        boolean isOther = damage == DamageKind.TOO_NEW || damage == DamageKind.TOO_OLD;
        EntryCopier reader = verify();
        assertCounts(reader, 1, isOther ? 0 : 1, 0, isOther ? 1 : 0);
        assertEquals(
                isOther
                        ? Map.of()
                        : Map.of(
                                damagedEntry.hash() + ": " + Place.name(damage) + ": for a test",
                                1L),
                reader.failures);

        assertCounts(repair(), 1, 0, isOther ? 0 : 1, isOther ? 1 : 0);
        assertEquals(isOther ? List.of() : List.of(damagedEntry), removed);
    }

    @Test
    @DisplayName("An unreadable or remaining damaged entry is a failure; an entry that is removed"
            + " meanwhile is not, and a repaired entry does not compensate for an unreadable one")
    void unreadable() {
        catalog.add(TestEntries.TARGET.path(), Sha256.of(new byte[] {1}), LoadResult.ABSENT);
        assertCounts(repair(), 0, 0, 0, 0);
        catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {2}),
                new LoadResult.Unavailable("the disk is broken"));
        EntryCopier reader = repair();
        assertCounts(reader, 0, 1, 0, 0);
        assertTrue(reader.failures.keySet().iterator().next().endsWith("the disk is broken"));
        assertEquals(List.of(), removed);
        catalog.add(
                TestEntries.TARGET.path(),
                Sha256.of(new byte[] {3}),
                new LoadResult.Damaged(DamageKind.CORRUPT, ""));
        assertCounts(verify(), 0, 2, 0, 0);
        assertCounts(repair(), 0, 1, 1, 0);
    }
}
