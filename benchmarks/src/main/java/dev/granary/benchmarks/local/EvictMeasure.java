package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.store.CapacityBoundedStore;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.store.WorkloadItem;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkload;
import dev.granary.benchmarks.local.workload.LocalWorkspace;
import dev.granary.benchmarks.local.workload.Rounds;
import dev.granary.benchmarks.local.workload.Zipf;
import dev.granary.cache.Id;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;

/**
 * Measure of puts into full stores. The stores are filled to a capacity of a quarter of the
 * workload. Then the whole workload is put, with one lookup after each put, Zipf-distributed over
 * as many of the latest entries as fit.
 */
final class EvictMeasure {
    private static final int STEADY_FRACTION = 500; // a smaller part of the bytes may change
    private static final int FRACTION = 4; // the capacity is this part of the workload
    private static final int PART = 500; // the entries in memory while the stores are filled
    private static final double RATE_GOAL = 1.5;
    private static final double DISK_GOAL = 1.10;

    private final LocalSettings settings;
    private final LocalWorkspace workplace;
    private final Map<StoreCandidate, CapacityBoundedStore> stores =
            new EnumMap<>(StoreCandidate.class);
    private final Rounds rates = new Rounds();
    private final Rounds diskToLive = new Rounds();
    private final Rounds hitPercents = new Rounds();

    EvictMeasure(LocalSettings settings, LocalWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    void run() throws IOException, InterruptedException {
        Path parent = workplace.directory("evict");
        int filling = Math.max(1, settings.entries() / FRACTION);
        LocalWorkload material =
                LocalWorkload.workload(settings.seed(), filling + settings.entries());
        long capacity = LocalWorkload.workload(settings.seed(), filling).bytes();
        for (StoreCandidate owner : settings.owners()) {
            stores.put(
                    owner, new CapacityBoundedStore(owner, owner.open(parent, capacity), capacity));
        }
        fill(material, filling);
        Zipf zipf = new Zipf(filling, new SplittableRandom(settings.seed()));
        for (int round = 0; round < settings.rounds(); round++) {
            workplace.say("put and evict, round " + (round + 1) + " of " + settings.rounds());
            int from = filling + (int) ((long) settings.entries() * round / settings.rounds());
            int to = filling + (int) ((long) settings.entries() * (round + 1) / settings.rounds());
            List<WorkloadItem> items = material.items(from, to);
            List<Id> lookups = new ArrayList<>();
            for (int i = from; i < to; i++) {
                lookups.add(LocalWorkload.id(i - zipf.next()));
            }
            for (StoreCandidate owner : Rounds.turn(settings.owners(), settings.seed(), round)) {
                CapacityBoundedStore store = of(owner);
                rates.add(owner, putsPerSecond(store, items, lookups));
                sample(owner, parent);
                workplace.settle();
            }
        }
        for (CapacityBoundedStore store : stores.values()) {
            store.close();
        }
    }

    ReportSection section() {
        ReportSection section = new ReportSection(
                "evict",
                "put + evict + get on a full store; medians of " + settings.rounds() + " rounds",
                new ReportSection.Column("putsPerSecond", "puts/s", 0),
                new ReportSection.Column("ratio", "/ raw", 2),
                new ReportSection.Column("diskToLiveMax", "disk/live max", 2),
                new ReportSection.Column("diskToLiveLast", "last", 2),
                new ReportSection.Column("hitPercent", "gets hit %", 1));
        for (StoreCandidate owner : settings.owners()) {
            section.row(
                    owner.label(),
                    rates.median(owner),
                    rates.ratioToRaw(owner),
                    diskToLive.max(owner),
                    diskToLive.last(owner),
                    hitPercents.last(owner));
        }
        section.goal(new Goal(
                "put + evict, rate / raw",
                Goal.Bound.AT_LEAST,
                RATE_GOAL,
                rates.ratioToRaw(StoreCandidate.TIER)));
        section.goal(new Goal(
                "disk / live, largest sample",
                Goal.Bound.AT_MOST,
                DISK_GOAL,
                diskToLive.max(StoreCandidate.TIER)));
        section.note("disk is what the file system allocated (du), live the frames that still hit;"
                + " sampled after each round, as soon as the disk does not change while they"
                + " are counted. The benchmark evicts for raw, lmdb and rfc,"
                + " oldest use first, by a list in memory");
        return section;
    }

    private void fill(LocalWorkload material, int filling)
            throws IOException, InterruptedException {
        for (int from = 0; from < filling; from += PART) {
            workplace.say("filling before put and evict, " + from + " of " + filling);
            List<WorkloadItem> items = material.items(from, Math.min(filling, from + PART));
            for (CapacityBoundedStore store : stores.values()) {
                for (WorkloadItem item : items) {
                    store.put(item);
                }
            }
        }
        workplace.settle();
    }

    private static double putsPerSecond(
            CapacityBoundedStore store, List<WorkloadItem> items, List<Id> lookups)
            throws IOException {
        long start = System.nanoTime();
        for (int i = 0; i < items.size(); i++) {
            store.put(items.get(i));
            store.get(lookups.get(i));
        }
        return items.size() * 1e9 / (System.nanoTime() - start);
    }

    private void sample(StoreCandidate owner, Path parent)
            throws IOException, InterruptedException {
        long before;
        long live;
        long after = LocalWorkspace.allocatedBytes(owner.directory(parent));
        // a store that evicts in the background must not change between the two counts
        do {
            before = after;
            live = of(owner).liveBytes();
            after = LocalWorkspace.allocatedBytes(owner.directory(parent));
        } while (Math.abs(after - before) > before / STEADY_FRACTION);
        diskToLive.add(owner, (double) after / live);
        hitPercents.add(owner, of(owner).hitPercent());
    }

    private CapacityBoundedStore of(StoreCandidate owner) {
        return Objects.requireNonNull(stores.get(owner));
    }
}
