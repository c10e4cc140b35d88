package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.workload.LocalSettings;

import java.util.Arrays;

/** The table of the lookups. */
final class GetSection {
    private static final double RATIO_GOAL = 0.40;
    private static final double READERS_GOAL = 1.6;

    private GetSection() {}

    static ReportSection of(LocalSettings settings, GetMeasure get, TwoProcessReadMeasure two) {
        ReportSection section = new ReportSection(
                "get",
                "get, mean of an entry; medians of " + settings.rounds() + " rounds",
                new ReportSection.Column("allMicros", "all us", 1),
                new ReportSection.Column("allRatio", "/ raw", 2),
                new ReportSection.Column("allProcessorRatio", "cpu / raw", 2),
                new ReportSection.Column("typicalMicros", "32K us", 1),
                new ReportSection.Column("typicalRatio", "/ raw", 2),
                new ReportSection.Column("twoThreadsMicros", "2 thr us", 1),
                new ReportSection.Column("twoThreadsRatio", "/ raw", 2),
                new ReportSection.Column("twoProcesses", "2 proc x", 2, "no"));
        for (StoreCandidate candidate : settings.candidates()) {
            double[] figures = get.figures(candidate);
            double[] all = Arrays.copyOf(figures, figures.length + 1);
            all[figures.length] = two.speedup(candidate);
            section.row(candidate.label(), all);
        }
        get.limitRow(section);
        section.goal(new Goal(
                "get / raw, all sizes", Goal.Bound.AT_MOST, RATIO_GOAL, get.ratioOfTier()));
        get.keptGoals(section);
        section.goal(new Goal(
                "two reading processes x one",
                Goal.Bound.AT_LEAST,
                READERS_GOAL,
                two.speedup(StoreCandidate.TIER)));
        section.note("all: all sizes; cpu: the processor time of the same, without what"
                + " others took of the machine. 32K: entries of about 32 KiB. 2 thr:"
                + " all sizes, for each of two threads of one process. 2 proc: gets of"
                + " two processes together, times those of one; no: two processes"
                + " cannot share it. (copied): the bound of stores that return a"
                + " verified copy: as many bytes, copied from a mapping into a warm"
                + " buffer and checksummed there. kept: into new memory for each"
                + " entry, which the garbage collector frees, as lookups read");
        return section;
    }
}
