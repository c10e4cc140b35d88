package dev.granary.testing;

import java.util.OptionalLong;

/** The seed of this process, if a test has used it. Thread-safe. */
final class SeedUse {
    private static volatile OptionalLong seed = OptionalLong.empty();

    private SeedUse() {}

    static void used(long value) {
        seed = OptionalLong.of(value);
    }

    /** Returns the seed, or empty if it has not been used. */
    static OptionalLong seed() {
        return seed;
    }
}
