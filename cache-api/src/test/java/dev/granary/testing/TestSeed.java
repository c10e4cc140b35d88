package dev.granary.testing;

import java.util.SplittableRandom;

/**
 * The one seed of all that is random in the tests of a process. It is printed once, stands in the message
 * of failures ({@link SeedReporter}), and is set with {@code -Dgranary.seed=N} to replay.
 */
public final class TestSeed {
    /** The seed. */
    public static final long VALUE = Long.getLong("granary.seed", System.nanoTime());

    static {
        SeedUse.used(VALUE);
        System.out.println("granary.seed=" + VALUE + " (replay with -Dgranary.seed=" + VALUE + ")");
    }

    private TestSeed() {}

    /** A generator of its own for each test class or purpose; the same for the same seed and name. */
    public static SplittableRandom random(String name) {
        return new SplittableRandom(VALUE ^ ((long) name.hashCode() << 32));
    }
}
