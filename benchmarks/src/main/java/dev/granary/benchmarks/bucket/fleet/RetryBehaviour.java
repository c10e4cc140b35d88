package dev.granary.benchmarks.bucket.fleet;

import java.util.SplittableRandom;

/** The reaction of a node to a refused request. */
enum RetryBehaviour {
    /**
     * The retries of the bucket tier: two more attempts, after about 50 and 100 ms. Then the entry
     * or the part is left out.
     */
    THREE_ATTEMPTS("3 attempts", 3) {
        @Override
        double pauseSeconds(int attempt, SplittableRandom random) {
            return 0.05 * (1 << (attempt - 1)) * random.nextDouble(0.5, 1.5);
        }
    },
    /**
     * Attempts until the request is granted, after random pauses of up to 0.1, 0.2, 0.4 and so on
     * to 20 s.
     */
    UNTIL_GRANTED("until granted", Integer.MAX_VALUE) {
        @Override
        double pauseSeconds(int attempt, SplittableRandom random) {
            return random.nextDouble(Math.min(20, 0.1 * (1L << Math.min(attempt - 1, 10))));
        }
    };

    private final String label;
    private final int attempts;

    RetryBehaviour(String label, int attempts) {
        this.label = label;
        this.attempts = attempts;
    }

    String label() {
        return label;
    }

    /** Returns the maximum number of attempts of a request. */
    int attempts() {
        return attempts;
    }

    /** Returns the pause of a node after that many attempts. */
    abstract double pauseSeconds(int attempt, SplittableRandom random);
}
