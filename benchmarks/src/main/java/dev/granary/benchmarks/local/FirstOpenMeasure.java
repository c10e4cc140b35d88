package dev.granary.benchmarks.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkspace;
import dev.granary.benchmarks.local.workload.Rounds;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Measure of opening the filled stores and of the first verified lookup, each time in a new JVM.
 */
final class FirstOpenMeasure {
    private static final double GOAL_MILLIS = 100;

    private final LocalSettings settings;
    private final LocalWorkspace workplace;
    private final Rounds millis = new Rounds();

    FirstOpenMeasure(LocalSettings settings, LocalWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    /** Measures the stores under {@code parent}, which no process has open. */
    void run(Path parent, long capacity) throws IOException, InterruptedException {
        for (int round = 0; round < settings.rounds(); round++) {
            workplace.say(
                    "first open in a new JVM, round " + (round + 1) + " of " + settings.rounds());
            for (StoreCandidate candidate :
                    Rounds.turn(settings.candidates(), settings.seed(), round)) {
                millis.add(candidate, start(candidate, parent, capacity));
            }
        }
    }

    ReportSection section() {
        ReportSection section = new ReportSection(
                "first-open",
                "first open and first get in a new JVM, start of the JVM apart; medians of "
                        + settings.rounds(),
                new ReportSection.Column("millis", "ms", 0),
                new ReportSection.Column("ratio", "/ raw", 2));
        for (StoreCandidate candidate : settings.candidates()) {
            section.row(candidate.label(), millis.median(candidate), millis.ratioToRaw(candidate));
        }
        section.goal(new Goal(
                "first open in a new JVM, ms",
                Goal.Bound.AT_MOST,
                GOAL_MILLIS,
                millis.median(StoreCandidate.TIER)));
        return section;
    }

    private double start(StoreCandidate candidate, Path parent, long capacity)
            throws IOException, InterruptedException {
        Process process = workplace.start(
                FirstOpen.class, parent.toString(), candidate.name(), Long.toString(capacity));
        try (BufferedReader out = process.inputReader(UTF_8)) {
            String line = out.readLine();
            process.waitFor();
            if (line == null) {
                throw new IOException(candidate.label() + " does not open: " + workplace.errors());
            }
            return Double.parseDouble(line);
        }
    }
}
