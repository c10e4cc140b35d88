package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.LocalWorkload.Item;
import dev.granary.benchmarks.local.LocalWorkload.Sizes;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Measure of puts into full stores. The stores are filled to a capacity of a quarter of the
 * workload, which is then put.
 */
final class EvictMeasure {
    private static final int FRACTION = 4; // the capacity is this part of the workload

    private final LocalSettings settings;
    private final LocalWorkspace workspace;
    private final Rounds micros = new Rounds();
    private final Rounds used = new Rounds();

    EvictMeasure(LocalSettings settings, LocalWorkspace workspace) {
        this.settings = settings;
        this.workspace = workspace;
    }

    ReportSection run() throws IOException, InterruptedException {
        LocalWorkload workload = new LocalWorkload(settings.seed(), settings.entries());
        List<Item> filling = workload.set(Sizes.MIXED, 0);
        long capacity =
                filling.stream().mapToLong(item -> item.frame().byteSize()).sum();
        Path parent = workspace.directory("evict");
        Map<StoreCandidate, CandidateStore> stores = new EnumMap<>(StoreCandidate.class);
        for (StoreCandidate owner : settings.owners()) {
            CandidateStore store = owner.open(parent, capacity);
            stores.put(owner, store);
            for (Item item : filling) {
                store.put(item);
            }
        }
        int from = settings.entries();
        for (int round = 1; round <= settings.rounds(); round++) {
            workspace.say("evict, round " + round + " of " + settings.rounds());
            int to = settings.entries()
                    + (int) ((long) FRACTION * settings.entries() * round / settings.rounds());
            List<Item> items = new ArrayList<>(workload.items(Sizes.MIXED, from, to, 0));
            from = to;
            for (StoreCandidate owner : Rounds.turns(settings.owners(), settings.seed(), round)) {
                workspace.settle();
                measure(owner, Objects.requireNonNull(stores.get(owner)), items, capacity);
            }
        }
        stores.values().forEach(CandidateStore::close);
        ReportSection section = new ReportSection(
                "evict",
                "put a new entry into a full store; medians of " + settings.rounds() + " rounds",
                new ReportSection.Column("micros", "us", 2),
                new ReportSection.Column("used", "used / capacity", 2));
        Rounds.addRows(section, settings.owners(), List.of(micros, used));
        section.note("Both sweep after each 1/16 of the capacity: raw in its put, the tier in the"
                + " background. The time includes a last sweep.");
        return section;
    }

    private void measure(
            StoreCandidate owner, CandidateStore store, List<Item> items, long capacity)
            throws IOException {
        long start = System.nanoTime();
        for (Item item : items) {
            store.put(item);
        }
        long end = System.nanoTime();
        used.add(owner, (double) store.list().bytes() / capacity);
        long sweep = System.nanoTime();
        store.sweep(capacity);
        micros.add(owner, (System.nanoTime() - sweep + end - start) / 1e3 / items.size());
    }
}
