package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.store.CandidateStore;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkload;
import dev.granary.benchmarks.local.workload.LocalWorkspace;
import dev.granary.benchmarks.local.workload.Rounds;
import dev.granary.cache.Id;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Measure of opening a store of very many tiny entries in a warm process, and of the first verified
 * lookup in it: the tier and LMDB.
 */
final class OpenMeasure {
    private static final int WARM_ROUNDS = 10;
    private static final int PART = 50_000;
    private static final double GOAL_MILLIS = 1;

    private final LocalSettings settings;
    private final LocalWorkspace workplace;
    private final List<StoreCandidate> owners;
    private final Rounds opened = new Rounds();
    private final Rounds got = new Rounds();

    OpenMeasure(LocalSettings settings, LocalWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
        this.owners = settings.owners().stream()
                .filter(owner -> owner == StoreCandidate.TIER || owner == StoreCandidate.LMDB)
                .toList();
    }

    void run() throws IOException, InterruptedException {
        Path parent = workplace.directory("open");
        LocalWorkload material = LocalWorkload.tiny(settings.seed(), settings.openEntries());
        for (StoreCandidate owner : owners) {
            fill(owner, parent, material);
        }
        workplace.settle();
        SplittableRandom random = new SplittableRandom(settings.seed());
        for (int round = 0; round < WARM_ROUNDS + 3 * settings.rounds(); round++) {
            Id id = LocalWorkload.id(random.nextInt(material.count()));
            for (StoreCandidate owner : Rounds.turn(owners, settings.seed(), round)) {
                long start = System.nanoTime();
                try (CandidateStore store = owner.open(parent, capacity());
                        CandidateStore.Reader reader = store.reader(owner)) {
                    long open = System.nanoTime();
                    long found = reader.get(id);
                    long end = System.nanoTime();
                    if (found == CandidateStore.Reader.ABSENT) {
                        throw new IOException(owner.label() + ": no hit: " + id);
                    }
                    if (round >= WARM_ROUNDS) {
                        opened.add(owner, (open - start) / 1e6);
                        got.add(owner, (end - start) / 1e6);
                    }
                }
            }
        }
    }

    ReportSection section() {
        ReportSection section = new ReportSection(
                "open",
                String.format(
                        Locale.ROOT,
                        "open a store of %,d tiny entries in a warm JVM, and the first get;"
                                + " medians",
                        settings.openEntries()),
                new ReportSection.Column("openMillis", "open ms", 3),
                new ReportSection.Column("openAndGetMillis", "open + get ms", 3));
        for (StoreCandidate owner : owners) {
            section.row(owner.label(), opened.median(owner), got.median(owner));
        }
        section.goal(new Goal(
                "open + first get, warm JVM, ms",
                Goal.Bound.AT_MOST,
                GOAL_MILLIS,
                got.median(StoreCandidate.TIER)));
        return section;
    }

    private void fill(StoreCandidate owner, Path parent, LocalWorkload material)
            throws IOException {
        try (CandidateStore store = owner.open(parent, capacity())) {
            for (int from = 0; from < material.count(); from += PART) {
                workplace.say("filling " + owner.label() + " with tiny entries, " + from + " of "
                        + material.count());
                int to = Math.min(material.count(), from + PART);
                for (int i = from; i < to; i++) {
                    store.put(material.item(i));
                }
            }
        }
    }

    /** A capacity that is never reached. */
    private long capacity() {
        return (1L << 30) + 1024L * settings.openEntries();
    }
}
