package dev.granary.benchmarks.restore;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The times of one program in milliseconds: for each way those of all rounds of one process, or of
 * the first rounds of several.
 */
final class RestoreTimes {
    private final Map<RestoreWay, List<Double>> times = new EnumMap<>(RestoreWay.class);

    /**
     * The rounds that belong to one state of the JVM.
     *
     * @param label the name in the table
     * @param from the first round, counted from 0
     * @param to the round after the last one
     */
    record Phase(String label, int from, int to) {
        /** The first rounds of all processes, in which their JVMs interpret most of the code. */
        static final Phase FIRST = new Phase("first round", 0, Integer.MAX_VALUE);

        /** Rounds in which the JVM still compiles the code. */
        static final Phase EARLY = new Phase("rounds 3 to 11", 2, 11);

        /** Rounds for which the JVM has compiled the lookup, too. */
        static final Phase WARM = new Phase("rounds 201 to 240", 200, 240);
    }

    /** Records the time of the next round. */
    void record(RestoreWay way, double millis) {
        times.computeIfAbsent(way, _ -> new ArrayList<>()).add(millis);
    }

    /** Returns the times of a way, by round. */
    List<Double> of(RestoreWay way) {
        return times.getOrDefault(way, List.of());
    }

    /**
     * Returns the median of a way in milliseconds; NaN if it was not measured. For restores it is
     * that of the rounds of the phase, for builds that of all rounds, which are few.
     */
    double median(RestoreWay way, Phase phase) {
        boolean isBuild = way == RestoreWay.COMPILE || way == RestoreWay.SPIRV;
        List<Double> selected = of(way).stream()
                .skip(isBuild ? 0 : phase.from())
                .limit(phase.to() - phase.from())
                .sorted()
                .toList();
        return selected.isEmpty() ? Double.NaN : selected.get(selected.size() / 2);
    }
}
