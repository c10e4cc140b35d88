package dev.granary.s3.pack.compact;

import java.util.List;

/**
 * The report of a compaction.
 *
 * @param packed the number of entries in new packs
 * @param written the number of new packs
 * @param removed the number of objects that this and earlier runs removed
 * @param unremoved the number of objects that were to be removed and are still there
 * @param waiting the number of objects that are removed after the grace period
 * @param leftOut the number of entries that were left out as requested
 * @param lost the number of entries that are missing or damaged in their pack
 * @param lostPacks the packs of those, and packs that are missing
 * @param damagedKeys the keys of damaged unpacked entries, which stay where they are
 * @param unread the number of unpacked entries that could not be read now
 * @param tooLarge the number of unpacked entries that are too large for a pack
 * @param otherVersion the number of unpacked entries that another version of Granary wrote
 * @param gone the number of unpacked entries that were listed and no longer exist
 * @param isTruncated true if there is more than one compaction takes; the next one continues
 */
public record CompactionReport(
        long packed,
        long written,
        long removed,
        long unremoved,
        long waiting,
        long leftOut,
        long lost,
        List<String> lostPacks,
        List<String> damagedKeys,
        long unread,
        long tooLarge,
        long otherVersion,
        long gone,
        boolean isTruncated) {
    public CompactionReport {
        lostPacks = List.copyOf(lostPacks);
        damagedKeys = List.copyOf(damagedKeys);
    }

    /** Returns the number of listed unpacked entries that stay where they are. */
    public long left() {
        return damagedKeys.size() + unread + tooLarge + otherVersion;
    }
}
