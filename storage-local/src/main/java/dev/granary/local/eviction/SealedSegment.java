package dev.granary.local.eviction;

import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.SegmentFile;

/** Closed segment with its space on disk, as one sweep finds it. For one thread. */
final class SealedSegment {
    private final SegmentFile segment;
    private long length;
    private int first;
    private int end;
    private long liveUnits;
    private long disk;

    /** Creates a segment of {@code length} bytes that is not yet measured. */
    SealedSegment(SegmentFile segment, long length) {
        this.segment = segment;
        this.length = length;
    }

    /** Finds its entries in a snapshot that was taken after the segment was closed. */
    void measure(IndexSnapshot snapshot) {
        first = snapshot.firstOf(segment.number());
        end = snapshot.firstOf(segment.number() + 1);
        liveUnits = 0;
        for (int rank = first; rank < end; rank++) {
            liveUnits += snapshot.units(rank);
        }
        disk = length;
    }

    SegmentFile segment() {
        return segment;
    }

    /** Returns the length of the file in bytes. */
    long length() {
        return length;
    }

    /** Records that the file was truncated. */
    void setLength(long bytes) {
        length = bytes;
    }

    /** Returns the rank of its first entry in the snapshot. */
    int first() {
        return first;
    }

    /** Returns the rank after its last entry in the snapshot. */
    int end() {
        return end;
    }

    boolean isEmpty() {
        return end <= first;
    }

    long liveUnits() {
        return liveUnits;
    }

    /** Returns the bytes of its entries. */
    long live() {
        return liveUnits * EntryLocation.UNIT;
    }

    /** Returns the bytes of its blocks on disk. */
    long disk() {
        return disk;
    }

    void setDisk(long bytes) {
        disk = bytes;
    }

    /** Returns the bytes on disk that no entry covers. */
    long wasted() {
        return disk - live();
    }
}
