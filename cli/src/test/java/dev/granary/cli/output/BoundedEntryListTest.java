package dev.granary.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Sha256;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Comparator;

/** Tests of the bound on listed entries. */
class BoundedEntryListTest {
    private static BoundedEntryList listOf(int entries, int limit) {
        BoundedEntryList list =
                new BoundedEntryList(Comparator.comparingLong(EntryCatalog.Listed::bytes), limit);
        Sha256 hash = Sha256.of(new byte[0]);
        for (int i = 0; i < entries; i++) {
            list.accept(new EntryCatalog.Listed("opencl/x", hash, i, 0));
        }
        return list;
    }

    @Test
    @DisplayName("Entries that are left out because of the highest limit are reported as such")
    void exceedsMaximum() {
        int most = BoundedEntryList.MAX_ENTRIES;
        assertFalse(listOf(most, most).exceedsMaximum());
        assertTrue(listOf(most + 1, most).exceedsMaximum());
        assertTrue(listOf(most + 1, Integer.MAX_VALUE).exceedsMaximum());
        assertFalse(listOf(most + 1, 10).exceedsMaximum(), "the caller asked for 10");
        assertEquals(10, listOf(20, 10).sorted().size());
    }
}
