package dev.granary.benchmarks.local.store;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;

/** An entry to put, in the form of the tier and in that of its peers. Equality is identity. */
public final class WorkloadItem {
    private final int index;
    private final Entry entry;
    private final byte[] frame;

    public WorkloadItem(int index, Entry entry, byte[] frame) {
        this.index = index;
        this.entry = entry;
        this.frame = frame;
    }

    /** Returns the number in the material. */
    int index() {
        return index;
    }

    public Id id() {
        return entry.id();
    }

    /** Returns the entry; its SHA-256 is computed. */
    public Entry entry() {
        return entry;
    }

    /** Returns the frame of the entry, which must not be changed. */
    byte[] frame() {
        return frame;
    }
}
