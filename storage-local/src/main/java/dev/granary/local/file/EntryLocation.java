package dev.granary.local.file;

/**
 * Where the next entry goes, as one number that processes exchange atomically: a segment, the offset in it, and a check, since an offset that
 * rotted would let new entries be written over old ones. The same number without the check is the location of an entry.
 *
 * <p>Offsets count in units of {@value #UNIT} bytes, at which every entry starts.
 */
public final class EntryLocation {
    /** Bytes of a unit. */
    public static final int UNIT = 64;

    /** No segment has a higher number. */
    public static final int LAST_SEGMENT = (1 << 24) - 1;

    /** A location is a segment's number, shifted by so many bits, and a unit. */
    static final int SEGMENT_SHIFT = 26;

    private static final int UNIT_BITS = SEGMENT_SHIFT;
    private static final int CHECK_BITS = 14;
    private static final long CHECK_FACTOR = 0x9e3779b97f4a7c15L; // 2^64 divided by the golden ratio: any flipped bit changes the high ones

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

    /** True where a location can be that of an entry; others have rotted. */
    public static boolean isLocation(long location) {
        return location >>> UNIT_BITS > 0 && location >>> UNIT_BITS <= LAST_SEGMENT && unit(location) > 0;
    }

    public static long withCheck(long location) {
        return (location << CHECK_BITS) | check(location);
    }

    /** The location in {@code checked}; 0 where the check does not hold. */
    public static long withoutCheck(long checked) {
        long location = checked >>> CHECK_BITS;
        return isLocation(location) && check(location) == (checked & ((1L << CHECK_BITS) - 1)) ? location : 0;
    }

    private static long check(long location) {
        return (location * CHECK_FACTOR) >>> (Long.SIZE - CHECK_BITS);
    }

    /** How many units hold {@code bytes}. */
    public static long units(long bytes) {
        return (bytes + UNIT - 1) / UNIT;
    }
}
