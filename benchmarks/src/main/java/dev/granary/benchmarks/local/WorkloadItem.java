package dev.granary.benchmarks.local;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;

/** An entry that is to be put, as the tier takes it and as its peers do. Compared by identity. */
final class WorkloadItem {
    private final int index;
    private final Entry entry;
    private final byte[] frame;

    WorkloadItem(int index, Entry entry, byte[] frame) {
        this.index = index;
        this.entry = entry;
        this.frame = frame;
    }

    /** Its number in the material. */
    int index() {
        return index;
    }

    Id id() {
        return entry.id();
    }

    /** The entry, its SHA-256 computed. */
    Entry entry() {
        return entry;
    }

    /** The entry as stored; not to be changed. */
    byte[] frame() {
        return frame;
    }
}
