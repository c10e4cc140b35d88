package dev.granary.local.file;

/**
 * Encoding of entry locations: segment number and offset in one number. The append position adds a
 * check value and is exchanged atomically between processes. The check prevents a damaged offset
 * from letting new entries overwrite old ones.
 *
 * <p>Offsets count in units of {@value #UNIT} bytes; every entry starts at a unit.
 */
public final class EntryLocation {
    /** Length of a unit in bytes. */
    public static final int UNIT = 64;

    /** Highest number of a segment. */
    public static final int LAST_SEGMENT = (1 << 24) - 1;

    /** Number of bits by which the segment number is shifted; the low bits are the unit. */
    static final int SEGMENT_SHIFT = 26;

    private static final int UNIT_BITS = SEGMENT_SHIFT;
    private static final int CHECK_BITS = 14;
    // 2^64 divided by the golden ratio: any flipped bit changes the high bits
    private static final long CHECK_FACTOR = 0x9e3779b97f4a7c15L;

    private EntryLocation() {}

    public static long location(int segment, long unit) {
        return ((long) segment << UNIT_BITS) | unit;
    }

    public static int segment(long location) {
        return (int) (location >>> UNIT_BITS);
    }

    public static long offset(long location) {
        return unit(location) * UNIT;
    }

    public static long unit(long location) {
        return location & ((1L << UNIT_BITS) - 1);
    }

    /** Returns whether a location is valid for an entry. Damaged locations may be invalid. */
    public static boolean isLocation(long location) {
        return location >>> UNIT_BITS > 0
                && location >>> UNIT_BITS <= LAST_SEGMENT
                && unit(location) > 0;
    }

    public static long withCheck(long location) {
        return (location << CHECK_BITS) | check(location);
    }

    /** Returns the location in {@code checked}, or 0 if the check fails. */
    public static long withoutCheck(long checked) {
        long location = checked >>> CHECK_BITS;
        return isLocation(location) && check(location) == (checked & ((1L << CHECK_BITS) - 1))
                ? location
                : 0;
    }

    private static long check(long location) {
        return (location * CHECK_FACTOR) >>> (Long.SIZE - CHECK_BITS);
    }

    /** Returns the number of units that {@code bytes} bytes occupy. */
    public static long units(long bytes) {
        return (bytes + UNIT - 1) / UNIT;
    }
}
