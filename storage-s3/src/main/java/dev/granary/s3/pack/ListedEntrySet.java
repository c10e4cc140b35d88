package dev.granary.s3.pack;

import dev.granary.cache.Sha256;

/**
 * Set of the entries that a listing has returned, in 12 to 24 bytes each, or 36 while it grows: a
 * 64-bit fingerprint of namespace and id. Not thread-safe.
 *
 * <p>If two entries have the same fingerprint, the second is not returned. Among a million entries
 * that happens once in 37 million listings.
 */
public final class ListedEntrySet {
    private static final int FIRST_SLOTS = 1 << 10;

    private long[] slots = new long[FIRST_SLOTS]; // 0: free
    private int size;

    /** Creates an empty set. */
    public ListedEntrySet() {}

    /** Adds an entry; returns false if it was there already. */
    public boolean add(String namespace, Sha256 id) {
        if (size >= slots.length / 3 * 2) {
            long[] before = slots;
            slots = new long[before.length * 2];
            for (long fingerprint : before) {
                if (fingerprint != 0) {
                    slots[slot(fingerprint)] = fingerprint;
                }
            }
        }
        long fingerprint = fingerprint(namespace, id);
        int slot = slot(fingerprint);
        boolean isNew = slots[slot] == 0;
        if (isNew) {
            slots[slot] = fingerprint;
            size++;
        }
        return isNew;
    }

    private static long fingerprint(String namespace, Sha256 id) {
        long fingerprint = id.prefix() ^ (namespace.hashCode() * 0x9E3779B97F4A7C15L);
        return fingerprint == 0 ? 1 : fingerprint;
    }

    /** Returns the slot of that fingerprint, or a free one for it. */
    private int slot(long fingerprint) {
        // the last bits of namespaces may be alike in a hostile bucket
        int slot = (int) ((fingerprint * 0xBF58476D1CE4E5B9L) >>> 32) & (slots.length - 1);
        while (slots[slot] != 0 && slots[slot] != fingerprint) {
            slot = (slot + 1) & (slots.length - 1);
        }
        return slot;
    }
}
