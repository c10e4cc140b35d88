package dev.granary.it.bench.local;

/** The table of the look-ups. */
final class GetSection {
    private static final double RATIO_GOAL = 0.40;
    private static final double READERS_GOAL = 1.6;

    private GetSection() {}

    static Section of(Settings settings, GetMeasure get, TwoReaders two) {
        Section section = new Section("get", "get, mean of an entry; medians of " + settings.rounds() + " rounds",
                new Section.Column("allMicros", "all us", 1), new Section.Column("allRatio", "/ raw", 2),
                new Section.Column("typicalMicros", "32K us", 1), new Section.Column("typicalRatio", "/ raw", 2),
                new Section.Column("twoThreadsMicros", "2 thr us", 1), new Section.Column("twoThreadsRatio", "/ raw", 2),
                new Section.Column("twoProcesses", "2 proc x", 2, "no"));
        for (Candidate candidate : settings.candidates()) {
            double[] six = get.figures(candidate);
            section.row(candidate.label(), six[0], six[1], six[2], six[3], six[4], six[5], two.speedup(candidate));
        }
        section.goal(new Goal("get / raw, all sizes", Goal.Bound.AT_MOST, RATIO_GOAL, get.ratioOfTier()));
        section.goal(new Goal("two reading processes x one", Goal.Bound.AT_LEAST, READERS_GOAL, two.speedup(Candidate.TIER)));
        section.note("all: all sizes. 32K: entries of about 32 KiB. 2 thr: all sizes, for each of two threads of one process. "
                + "2 proc: gets of two processes together, times those of one; no: two processes cannot share it");
        return section;
    }
}
