package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.store.CandidateStore;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.store.WorkloadItem;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkload;
import dev.granary.benchmarks.local.workload.LocalWorkspace;
import dev.granary.benchmarks.local.workload.Rounds;
import dev.granary.benchmarks.local.workload.Stopwatch;
import dev.granary.cache.Entry;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Measure of filling the stores. Each round puts the next part of the workload into one store after
 * the other. Unwritten pages are written between two turns, outside of the time.
 */
final class PutMeasure {
    private static final int WARM_ROUNDS = 2;
    private static final double GOAL = 0.7;

    private final LocalSettings settings;
    private final LocalWorkspace workplace;
    private final Rounds micros = new Rounds();
    private final Rounds processorMicros = new Rounds();
    private final List<Double> hashMicros = new ArrayList<>();

    PutMeasure(LocalSettings settings, LocalWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    /** Puts the whole material into each store. */
    void fill(OpenCandidates stores, LocalWorkload material)
            throws IOException, InterruptedException {
        int rounds = WARM_ROUNDS + settings.rounds();
        for (int round = 0; round < rounds; round++) {
            workplace.say("put, round " + (round + 1) + " of " + rounds);
            List<WorkloadItem> part =
                    material.items((int) ((long) material.count() * round / rounds), (int)
                            ((long) material.count() * (round + 1) / rounds));
            for (StoreCandidate owner : Rounds.turn(settings.owners(), settings.seed(), round)) {
                Stopwatch.Micros spent = microsEach(part, stores.of(owner));
                if (round >= WARM_ROUNDS) {
                    micros.add(owner, spent.wall());
                    processorMicros.add(owner, spent.processor());
                }
                workplace.settle();
            }
            hashMicros.add(hashMicrosEach(part));
        }
    }

    ReportSection section() {
        ReportSection section = new ReportSection(
                "put",
                "put without sync, mean of an entry; medians of " + settings.rounds() + " rounds",
                new ReportSection.Column("micros", "us", 1),
                new ReportSection.Column("ratio", "/ raw", 2),
                new ReportSection.Column("processorRatio", "cpu / raw", 2));
        for (StoreCandidate owner : settings.owners()) {
            section.row(
                    owner.label(),
                    micros.median(owner),
                    micros.ratioToRaw(owner),
                    processorMicros.ratioToRaw(owner));
        }
        section.row("(sha-256)", Rounds.median(hashMicros));
        section.goal(new Goal(
                "put / raw", Goal.Bound.AT_MOST, GOAL, micros.ratioToRaw(StoreCandidate.TIER)));
        section.note(
                "what peers store is encoded beforehand; the tier encodes and checksums inside the"
                        + " time, but the entry's SHA-256 is known beforehand, as after a download:"
                        + " (sha-256) is what computing it costs for an entry");
        return section;
    }

    private static Stopwatch.Micros microsEach(List<WorkloadItem> items, CandidateStore store)
            throws IOException {
        Stopwatch stopwatch = new Stopwatch();
        for (WorkloadItem item : items) {
            store.put(item);
        }
        return stopwatch.each(items.size());
    }

    private static double hashMicrosEach(List<WorkloadItem> items) {
        long start = System.nanoTime();
        int used = 0;
        for (WorkloadItem item : items) {
            used += Entry.contentHash(item.id(), item.entry().binaries()).hashCode();
        }
        double spent = (System.nanoTime() - start) / 1e3 / items.size();
        if (used == 1) {
            throw new IllegalStateException("so that the hash is not optimised away");
        }
        return spent;
    }
}
