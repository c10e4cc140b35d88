package dev.granary.s3.pack;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A part of a pack that is read with one request, and the wanted entries in it.
 *
 * @param pack the pack
 * @param offset where the part begins
 * @param locations the wanted entries, in the order in which they lie
 */
public record PackRange(PackInfo pack, long offset, List<PackLocation> locations) {
    /** What is not wanted is read along up to this length, in bytes, instead of making another request. */
    private static final int MAX_GAP = 256 << 10;

    public int length() {
        return (int) (locations.getLast().end() - offset);
    }

    /** The parts of a pack that have all wanted entries, each a little longer than {@code bytes} where there is so much. */
    public static List<PackRange> of(PackInfo pack, List<PackLocation> wanted, long bytes) {
        List<PackLocation> locations = wanted.stream().sorted(Comparator.comparingLong(PackLocation::offset)).toList();
        List<PackRange> ranges = new ArrayList<>();
        List<PackLocation> open = new ArrayList<>();
        for (PackLocation location : locations) {
            boolean isFull = !open.isEmpty()
                    && (open.getLast().end() - open.getFirst().offset() >= bytes || location.offset() - open.getLast().end() > MAX_GAP);
            if (isFull) {
                ranges.add(new PackRange(pack, open.getFirst().offset(), List.copyOf(open)));
                open.clear();
            }
            open.add(location);
        }
        if (!open.isEmpty()) {
            ranges.add(new PackRange(pack, open.getFirst().offset(), List.copyOf(open)));
        }
        return ranges;
    }
}
