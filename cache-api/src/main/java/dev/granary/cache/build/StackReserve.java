package dev.granary.cache.build;

/**
 * A check that enough stack is left for a step to complete or to be undone.
 *
 * <p>A {@link StackOverflowError} may end any call, including those in {@code catch} and
 * {@code finally}. A step that must not be left incomplete therefore checks the stack first, and
 * fails before it changes anything.
 *
 * <p>The check makes nested calls at least as deep as the step. Each call uses at least 56 bytes of
 * stack if compiled, and 150 bytes if interpreted.
 */
public final class StackReserve {
    // Locks, maps and lists: about 4 KB compiled, 10 KB interpreted.
    private static final int SMALL_DEPTH = 64;
    // Files, class loading and log messages: about 30 KB compiled, 90 KB interpreted.
    private static final int LARGE_DEPTH = 512;

    private StackReserve() {}

    /**
     * Checks that enough stack is left for a few calls: locks, maps, lists. Takes about 0.1 us.
     *
     * @throws StackOverflowError if less is left
     */
    public static void requireLittle() {
        descend(SMALL_DEPTH, 1, 2, 3, 4);
    }

    /**
     * Checks that enough stack is left for a lookup: files, class loading, log messages. Takes
     * about 1 us.
     *
     * @throws StackOverflowError if less is left
     */
    public static void require() {
        descend(LARGE_DEPTH, 1, 2, 3, 4);
    }

    /**
     * Recurses {@code calls} deep. All arguments are used after the call, so that a compiler must
     * keep them in the frame.
     */
    private static long descend(int calls, long a, long b, long c, long d) {
        if (calls == 0) {
            return a ^ b ^ c ^ d;
        }
        long below = descend(calls - 1, a + b, b ^ c, c + d, d - a);
        return below + a * 3 + b * 5 + c * 7 + d;
    }
}
