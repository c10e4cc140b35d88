package dev.granary.local.file;

import java.io.IOException;

/**
 * The whole disk blocks between the entries of one segment. Immutable.
 *
 * <p>For closed segments only: bytes that no entry of the snapshot covers count as free.
 */
public final class SegmentHoles {
    /**
     * Block size in bytes. Larger blocks of the file system only make the holes smaller than
     * planned.
     */
    public static final long BLOCK = 4096;

    private final long[] holes; // offset, length, offset, length ...
    private final int count;
    private final long end;
    private final long blocks;

    private SegmentHoles(long[] holes, int count, long end, long blocks) {
        this.holes = holes;
        this.count = count;
        this.end = end;
        this.blocks = blocks;
    }

    /**
     * Returns the holes between the entries with the ranks {@code first} to {@code endRank}
     * (exclusive), in a segment of {@code length} bytes.
     */
    public static SegmentHoles between(
            IndexSnapshot snapshot, int first, int endRank, long length) {
        long[] holes = new long[2 * (endRank - first + 1)];
        int count = 0;
        long covered = BLOCK; // the header's block is kept
        long blocks = BLOCK;
        long end = EntryLocation.UNIT;
        for (int rank = first; rank < endRank; rank++) {
            long from = EntryLocation.offset(snapshot.location(rank));
            long to = Math.min(length, from + snapshot.units(rank) * EntryLocation.UNIT);
            long firstBlock = from / BLOCK * BLOCK;
            long afterLast = (to + BLOCK - 1) / BLOCK * BLOCK;
            if (firstBlock > covered) {
                holes[2 * count] = covered;
                holes[2 * count++ + 1] = firstBlock - covered;
            }
            blocks += Math.max(0, afterLast - Math.max(covered, firstBlock));
            covered = Math.max(covered, afterLast);
            end = Math.max(end, to);
        }
        return new SegmentHoles(
                holes, count, end, Math.min(blocks, Math.max(end, EntryLocation.UNIT)));
    }

    /** Returns the offset at which the last entry ends. */
    public long end() {
        return end;
    }

    /** Returns the bytes of the blocks that remain when all holes are punched. */
    public long blocks() {
        return blocks;
    }

    public void punch(SegmentFile segment, StoreStep.Listener steps) throws IOException {
        try (HolePuncher punch = HolePuncher.on(segment.file())) {
            for (int i = 0; i < count; i++) {
                punch.punch(holes[2 * i], holes[2 * i + 1]);
                steps.done(StoreStep.PUNCHED);
            }
        }
    }

    /** Reclaims all of a segment but its header. */
    public static void punchAll(SegmentFile segment, long length) throws IOException {
        try (HolePuncher punch = HolePuncher.on(segment.file())) {
            punch.punch(BLOCK, length - BLOCK);
        }
    }
}
