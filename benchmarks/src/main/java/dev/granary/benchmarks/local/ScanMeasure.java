package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.LocalWorkload.Sizes;
import dev.granary.cache.Id;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Measure of a store of very many tiny entries in a warm process: the first lookup after opening, a
 * list of all entries, a sweep that evicts 1/16, and lookups without and during that sweep.
 */
final class ScanMeasure {
    private static final int WARM_OPENS = 10;
    private static final int SWEEPS = 3; // each evicts 1/16
    private static final int GETS = 20_000;

    private final LocalSettings settings;
    private final LocalWorkspace workspace;
    private final SplittableRandom random;
    private final Rounds opens = new Rounds();
    private final Rounds lists = new Rounds();
    private final Rounds sweeps = new Rounds();
    private final Rounds median = new Rounds();
    private final Rounds percentile = new Rounds();
    private final Rounds medianDuring = new Rounds();
    private final Rounds percentileDuring = new Rounds();

    ScanMeasure(LocalSettings settings, LocalWorkspace workspace) {
        this.settings = settings;
        this.workspace = workspace;
        this.random = new SplittableRandom(settings.seed());
    }

    ReportSection run() throws Exception {
        Path parent = workspace.directory("scan");
        for (StoreCandidate owner : settings.owners()) {
            fill(owner, parent);
        }
        workspace.settle();
        measureOpens(parent);
        for (int round = 0; round < SWEEPS; round++) {
            workspace.say("sweep, round " + (round + 1) + " of " + SWEEPS);
            for (StoreCandidate owner : Rounds.turns(settings.owners(), settings.seed(), round)) {
                measureSweep(owner, parent);
                workspace.settle();
            }
        }
        ReportSection section = new ReportSection(
                "scan",
                String.format(
                        Locale.ROOT,
                        "%,d tiny entries, of which a sweep evicts 1/16; medians",
                        settings.manyEntries()),
                new ReportSection.Column("openAndGetMillis", "open+get ms", 2),
                new ReportSection.Column("listMillis", "list ms", 2),
                new ReportSection.Column("sweepMillis", "sweep ms", 2),
                new ReportSection.Column("getMicros", "get us", 2),
                new ReportSection.Column("getMicros99", "99 %", 2),
                new ReportSection.Column("sweptGetMicros", "in sweep", 2),
                new ReportSection.Column("sweptGetMicros99", "99 %", 2));
        Rounds.addRows(
                section,
                settings.owners(),
                List.of(opens, lists, sweeps, median, percentile, medianDuring, percentileDuring));
        return section;
    }

    private void fill(StoreCandidate owner, Path parent) throws IOException {
        workspace.say("filling " + owner + " with tiny entries");
        LocalWorkload workload = new LocalWorkload(settings.seed(), settings.manyEntries());
        try (CandidateStore store = owner.open(parent, CandidateStore.UNLIMITED)) {
            for (int i = 0; i < settings.manyEntries(); i++) {
                store.put(workload.item(Sizes.TINY, i, 0));
            }
        }
    }

    private void measureOpens(Path parent) throws IOException {
        for (int round = 0; round < WARM_OPENS + settings.rounds(); round++) {
            for (StoreCandidate owner : Rounds.turns(settings.owners(), settings.seed(), round)) {
                Id id = keptId();
                long start = System.nanoTime();
                try (CandidateStore store = owner.open(parent, CandidateStore.UNLIMITED)) {
                    store.reader(owner).get(id);
                    long end = System.nanoTime();
                    store.list();
                    if (round >= WARM_OPENS) {
                        opens.add(owner, (end - start) / 1e6);
                        lists.add(owner, (System.nanoTime() - end) / 1e6);
                    }
                }
            }
        }
    }

    private void measureSweep(StoreCandidate owner, Path parent) throws Exception {
        try (CandidateStore store = owner.open(parent, CandidateStore.UNLIMITED);
                ExecutorService background = Executors.newSingleThreadExecutor()) {
            long bytes = store.list().bytes();
            CandidateStore.Reader reader = store.reader(owner);
            List<Double> before = new ArrayList<>();
            for (int i = 0; i < GETS; i++) {
                before.add(micros(reader));
            }
            Callable<Double> sweep = () -> {
                long start = System.nanoTime();
                store.sweep(bytes - 1);
                return (System.nanoTime() - start) / 1e6;
            };
            List<Double> during = new ArrayList<>();
            Future<Double> swept = background.submit(sweep);
            do {
                during.add(micros(reader));
            } while (!swept.isDone());
            sweeps.add(owner, swept.get());
            addLatencies(owner, before, median, percentile);
            addLatencies(owner, during, medianDuring, percentileDuring);
        }
    }

    private static void addLatencies(
            StoreCandidate owner, List<Double> micros, Rounds medians, Rounds percentiles) {
        Collections.sort(micros);
        medians.add(owner, micros.get(micros.size() / 2));
        percentiles.add(owner, micros.get(micros.size() * 99 / 100));
    }

    private double micros(CandidateStore.Reader reader) throws IOException {
        Id id = keptId();
        long start = System.nanoTime();
        reader.get(id);
        return (System.nanoTime() - start) / 1e3;
    }

    /** Returns the id of an entry that no sweep evicts: one of the later half. */
    private Id keptId() {
        int half = settings.manyEntries() / 2;
        return LocalWorkload.id(Sizes.TINY, half + random.nextInt(settings.manyEntries() - half));
    }
}
