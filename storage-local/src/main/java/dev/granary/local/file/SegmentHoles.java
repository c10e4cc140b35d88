package dev.granary.local.file;

import java.io.IOException;

/**
 * What lies between the entries of one segment, in whole blocks of the disk. Immutable.
 *
 * <p>Only for closed segments: what no entry of the snapshot covers is taken to be nothing.
 */
public final class SegmentHoles {
    /** What file systems give back in; a larger block makes holes smaller than planned, no worse. */
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

    /** Between the entries with the ranks {@code first} to {@code behind}, in a segment of {@code length} bytes. */
    public static SegmentHoles between(IndexSnapshot snapshot, int first, int behind, long length) {
        long[] holes = new long[2 * (behind - first + 1)];
        int count = 0;
        long covered = BLOCK; // the header's block stays
        long blocks = BLOCK;
        long end = EntryLocation.UNIT;
        for (int rank = first; rank < behind; rank++) {
            long from = EntryLocation.offset(snapshot.location(rank));
            long to = Math.min(length, from + snapshot.units(rank) * EntryLocation.UNIT);
            long firstBlock = from / BLOCK * BLOCK;
            long behindLast = (to + BLOCK - 1) / BLOCK * BLOCK;
            if (firstBlock > covered) {
                holes[2 * count] = covered;
                holes[2 * count++ + 1] = firstBlock - covered;
            }
            blocks += Math.max(0, behindLast - Math.max(covered, firstBlock));
            covered = Math.max(covered, behindLast);
            end = Math.max(end, to);
        }
        return new SegmentHoles(holes, count, end, Math.min(blocks, Math.max(end, EntryLocation.UNIT)));
    }

    /** Where the last entry ends. */
    public long end() {
        return end;
    }

    /** How many bytes of blocks are left when all holes are punched. */
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

    /** Gives all of a segment back but its header. */
    public static void punchAll(SegmentFile segment, long length) throws IOException {
        try (HolePuncher punch = HolePuncher.on(segment.file())) {
            punch.punch(BLOCK, length - BLOCK);
        }
    }
}
