package dev.granary.benchmarks.restore;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** The times of one program: for each way a time for each round, in milliseconds. */
final class RestoreTimes {
    private final Map<RestoreWay, double[]> times = new EnumMap<>(RestoreWay.class);

    /**
     * The rounds that belong to one state of the JVM.
     *
     * @param label the name in the table
     * @param from the first round, counted from 0
     * @param to the round after the last one
     */
    record Phase(String label, int from, int to) {
        /** The round in which the JVM loads and interprets most of the code. */
        static final Phase FIRST = new Phase("first round", 0, 1);

        /** Rounds in which the JVM still compiles the code. */
        static final Phase EARLY = new Phase("rounds 3 to 11", 2, 11);

        /** Rounds for which the JVM has compiled the lookup, too. */
        static final Phase WARM = new Phase("rounds 201 to 240", 200, 240);

        /** All phases in their order. */
        static final List<Phase> ALL = List.of(FIRST, EARLY, WARM);
    }

    /** Records the time of a round. */
    void record(RestoreWay way, int rounds, int round, double millis) {
        times.computeIfAbsent(way, _ -> new double[rounds])[round] = millis;
    }

    /**
     * Returns the median of a way in milliseconds; NaN if it was not measured. For restores it is
     * that of the rounds of the phase, for builds that of all rounds, which are few.
     */
    double median(RestoreWay way, Phase phase) {
        double[] all = times.get(way);
        if (all == null) {
            return Double.NaN;
        }
        double[] selected = way == RestoreWay.COMPILE || way == RestoreWay.SPIRV
                ? all.clone()
                : Arrays.copyOfRange(all, phase.from(), phase.to());
        Arrays.sort(selected);
        return selected[selected.length / 2];
    }
}
