package dev.granary.testing;

import java.util.SplittableRandom;

/**
 * The seed of all randomness in the tests of a process. It is printed once, is part of the message
 * of failures ({@link SeedReporter}), and is set with {@code -Dgranary.seed=N} for a replay.
 */
public final class TestSeed {
    /** The seed. */
    public static final long VALUE = Long.getLong("granary.seed", System.nanoTime());

    static {
        SeedUse.used(VALUE);
        System.out.println("granary.seed=" + VALUE + " (replay with -Dgranary.seed=" + VALUE + ")");
    }

    private TestSeed() {}

    /** Returns a generator for a test class or purpose, determined by the seed and {@code name}. */
    public static SplittableRandom random(String name) {
        return new SplittableRandom(VALUE ^ ((long) name.hashCode() << 32));
    }
}
