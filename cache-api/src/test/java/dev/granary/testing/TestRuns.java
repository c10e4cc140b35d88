package dev.granary.testing;

import java.util.stream.IntStream;

/**
 * Numbers of runs of tests with random input. The build has few; {@code -Dgranary.campaign=N}
 * multiplies them. {@code -Dgranary.run=N} replays one run of a test with numbered runs.
 */
public final class TestRuns {
    private static final int FACTOR = Integer.getInteger("granary.campaign", 1);
    private static final int ONLY = Integer.getInteger("granary.run", -1);

    private TestRuns() {}

    /** Returns the number of runs of a test that has {@code inBuild} of them in the build. */
    public static int count(int inBuild) {
        return Math.multiplyExact(inBuild, FACTOR);
    }

    /** Returns the numbers of the runs, from 0 on, or the one that is replayed. */
    public static IntStream numbers(int inBuild) {
        return ONLY < 0 ? IntStream.range(0, count(inBuild)) : IntStream.of(ONLY);
    }

    /** Returns whether one run is replayed. */
    public static boolean isReplay() {
        return ONLY >= 0;
    }

    /** Returns the flags that replay a run. */
    public static String replay(int number) {
        return "replay with -Dgranary.seed=" + TestSeed.VALUE + " -Dgranary.run=" + number;
    }
}
