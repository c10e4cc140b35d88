package dev.granary.s3.pack.format;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A range of a pack that is read with one request, and the wanted entries in it.
 *
 * @param pack the pack
 * @param offset the start of the range
 * @param locations the wanted entries, in the order of their offsets
 */
public record PackRange(PackInfo pack, long offset, List<PackLocation> locations) {
    /**
     * The largest gap between wanted entries, in bytes, that is read along instead of sending
     * another request.
     */
    private static final int MAX_GAP = 256 << 10;

    public int length() {
        return (int) (locations.getLast().end() - offset);
    }

    /**
     * Returns ranges of a pack that cover all wanted entries. A range is closed when it has
     * {@code bytes}, or before a large gap.
     */
    public static List<PackRange> of(PackInfo pack, List<PackLocation> wanted, long bytes) {
        List<PackLocation> locations = wanted.stream()
                .sorted(Comparator.comparingLong(PackLocation::offset))
                .toList();
        List<PackRange> ranges = new ArrayList<>();
        List<PackLocation> open = new ArrayList<>();
        for (PackLocation location : locations) {
            boolean isFull = !open.isEmpty()
                    && (open.getLast().end() - open.getFirst().offset() >= bytes
                            || location.offset() - open.getLast().end() > MAX_GAP);
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
