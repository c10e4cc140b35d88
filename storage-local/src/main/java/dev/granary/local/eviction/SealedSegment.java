package dev.granary.local.eviction;

import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.SegmentFile;

/**
 * A sealed segment in one sweep: the place of its entries in the snapshot, and its space on disk.
 * For one thread.
 */
final class SealedSegment {
    private final SegmentFile segment;
    private long length;
    private int first;
    private int end;
    private long liveUnits;
    private long diskBytes;

    /** Creates a segment of {@code length} bytes that is not measured yet. */
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
        diskBytes = length;
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

    /** Returns true if the snapshot has no entry in it. */
    boolean isEmpty() {
        return end <= first;
    }

    /** Returns the units of its entries. */
    long liveUnits() {
        return liveUnits;
    }

    /** Returns the bytes of its entries. */
    long liveBytes() {
        return liveUnits * EntryLocation.UNIT;
    }

    /** Returns the bytes of its blocks on disk. */
    long diskBytes() {
        return diskBytes;
    }

    /** Records the bytes of its blocks after it was truncated or punched. */
    void setDiskBytes(long bytes) {
        diskBytes = bytes;
    }

    /** Returns the bytes on disk that no entry covers. */
    long wastedBytes() {
        return diskBytes - liveBytes();
    }
}
