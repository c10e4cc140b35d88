package dev.granary.s3.pack.compact;

import java.util.List;
import java.util.stream.Stream;

/**
 * Entries that a compaction did not put into packs.
 *
 * @param damaged the number of damaged unpacked entries, each by two responses
 * @param damagedKeys the keys of the first {@value #MAX_NAMED} of those
 * @param unread the number that could not be read now
 * @param tooLarge the number that are too large for a pack
 * @param otherVersion the number of unpacked entries that another version of Granary wrote
 * @param gone the number that were listed and no longer exist
 * @param isTruncated true if there are more unpacked entries than one compaction takes; the next
 *     one continues
 */
public record LeftEntries(
        long damaged,
        List<String> damagedKeys,
        long unread,
        long tooLarge,
        long otherVersion,
        long gone,
        boolean isTruncated) {
    /** The largest number of damaged entries that are named. */
    public static final int MAX_NAMED = 100;

    /** No entries. */
    static final LeftEntries NONE = new LeftEntries(0, List.of(), 0, 0, 0, 0, false);

    public LeftEntries {
        damagedKeys = List.copyOf(damagedKeys);
    }

    /** Returns the number of listed entries that stay where they are. */
    public long total() {
        return damaged + unread + tooLarge + otherVersion;
    }

    LeftEntries plusDamaged(String key) {
        List<String> keys = damaged < MAX_NAMED
                ? Stream.concat(damagedKeys.stream(), Stream.of(key)).toList()
                : damagedKeys;
        return new LeftEntries(
                damaged + 1, keys, unread, tooLarge, otherVersion, gone, isTruncated);
    }

    LeftEntries plusUnread(long more) {
        return new LeftEntries(
                damaged, damagedKeys, unread + more, tooLarge, otherVersion, gone, isTruncated);
    }

    LeftEntries plusTooLarge(long more) {
        return new LeftEntries(
                damaged, damagedKeys, unread, tooLarge + more, otherVersion, gone, isTruncated);
    }

    LeftEntries plusOtherVersion() {
        return new LeftEntries(
                damaged, damagedKeys, unread, tooLarge, otherVersion + 1, gone, isTruncated);
    }

    LeftEntries plusGone() {
        return new LeftEntries(
                damaged, damagedKeys, unread, tooLarge, otherVersion, gone + 1, isTruncated);
    }

    /** Returns these entries and those that the plan left out. */
    LeftEntries and(CompactionPlan.Unpacked planned) {
        return new LeftEntries(
                damaged,
                damagedKeys,
                unread,
                tooLarge + planned.tooLarge(),
                otherVersion,
                gone,
                planned.isTruncated());
    }
}
