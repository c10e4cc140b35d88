package dev.granary.cache.build;

/**
 * The stack that a step needs to begin and to be undone. A {@link StackOverflowError} may end any call, those of {@code catch} and
 * {@code finally} included. So a step that must not be left halfway asks for room before it begins: then it fails before anything was done.
 *
 * <p>The room is asked for by calls that go as deep as what follows will at most, each with at least 56 bytes of compiled code, and 150 of
 * interpreted code.
 */
public final class StackReserve {
    private static final int LITTLE = 64; // about 4 KB compiled, 10 KB interpreted: some locks, maps and lists
    private static final int MUCH = 512; // about 30 KB compiled, 90 KB interpreted: files, classes to be loaded, a log message

    private StackReserve() {}

    /**
     * Asks for the room of some calls: locks, maps, lists. Takes some 0.1 us.
     *
     * @throws StackOverflowError if there is less
     */
    public static void requireLittle() {
        descend(LITTLE, 1, 2, 3, 4);
    }

    /**
     * Asks for the room of a look-up: files, classes to be loaded, log messages. Takes some 1 us.
     *
     * @throws StackOverflowError if there is less
     */
    public static void require() {
        descend(MUCH, 1, 2, 3, 4);
    }

    /** All four are used after the call, so that a compiler has to keep them in the frame. */
    private static long descend(int calls, long a, long b, long c, long d) {
        if (calls == 0) {
            return a ^ b ^ c ^ d;
        }
        long below = descend(calls - 1, a + b, b ^ c, c + d, d - a);
        return below + a * 3 + b * 5 + c * 7 + d;
    }
}
