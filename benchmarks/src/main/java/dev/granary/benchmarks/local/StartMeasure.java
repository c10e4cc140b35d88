package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.ReportSection;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Measure of a new process, from its start until it has read 24 entries of 100 KiB. */
final class StartMeasure {
    private static final int WARM_ROUNDS = 2;

    private final LocalSettings settings;
    private final LocalWorkspace workspace;

    StartMeasure(LocalSettings settings, LocalWorkspace workspace) {
        this.settings = settings;
        this.workspace = workspace;
    }

    ReportSection run() throws IOException, InterruptedException {
        millis("fill");
        Rounds rounds = new Rounds();
        List<Double> none = new ArrayList<>();
        for (int round = 0; round < WARM_ROUNDS + settings.rounds(); round++) {
            workspace.say(
                    "start, round " + (round + 1) + " of " + (WARM_ROUNDS + settings.rounds()));
            double bare = millis("none");
            if (round >= WARM_ROUNDS) {
                none.add(bare);
            }
            for (StoreCandidate candidate :
                    Rounds.turns(settings.candidates(), settings.seed(), round)) {
                double millis = millis(candidate.toString());
                if (round >= WARM_ROUNDS) {
                    rounds.add(candidate, millis);
                }
            }
        }
        ReportSection section = new ReportSection(
                "start",
                "new process until 24 entries of 100 KiB are read; medians of " + settings.rounds()
                        + " rounds",
                new ReportSection.Column("millis", "ms", 2));
        Rounds.addRows(section, settings.candidates(), List.of(rounds));
        section.note(String.format(
                Locale.ROOT, "A process that reads nothing takes %.0f ms.", Rounds.median(none)));
        return section;
    }

    private double millis(String kind) throws IOException, InterruptedException {
        long start = System.nanoTime();
        Process process = workspace.start(
                FirstReader.class, kind, workspace.directory("start").toString());
        workspace.line(process);
        double millis = (System.nanoTime() - start) / 1e6;
        process.waitFor();
        return millis;
    }
}
