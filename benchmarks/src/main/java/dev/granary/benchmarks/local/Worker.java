package dev.granary.benchmarks.local;

import dev.granary.benchmarks.local.LocalSettings.Measure;
import dev.granary.benchmarks.local.LocalWorkload.Item;
import dev.granary.benchmarks.local.LocalWorkload.Sizes;
import dev.granary.cache.Id;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Callable;

/**
 * Thread that reads and writes the stores, in this process or, by {@link #main}, in its own. All
 * workers use the same ids; each has contents of its own, so that every put of a present id
 * replaces it.
 */
final class Worker {
    private static final int PUT_PART = 4; // a put turn has this part of a set
    private static final int MOST_WORKERS = 4;

    private final LocalWorkload workload;
    private final Map<StoreCandidate, CandidateStore> stores;
    private final Map<StoreCandidate, CandidateStore.Reader> readers =
            new EnumMap<>(StoreCandidate.class);
    private final Map<String, Integer> replaced = new HashMap<>();
    private final int worker;

    /**
     * Creates a worker.
     *
     * @param stores the store of each candidate
     * @param worker the number among all workers that use the stores, from 0
     */
    Worker(LocalWorkload workload, Map<StoreCandidate, CandidateStore> stores, int worker) {
        this.workload = workload;
        this.stores = stores;
        this.worker = worker;
        stores.forEach((candidate, store) -> readers.put(candidate, store.reader(candidate)));
    }

    /** Opens the stores that the candidates use. */
    static Map<StoreCandidate, CandidateStore> open(List<StoreCandidate> candidates, Path parent)
            throws IOException {
        Map<StoreCandidate, CandidateStore> stores = new EnumMap<>(StoreCandidate.class);
        for (StoreCandidate candidate : candidates) {
            stores.put(candidate, candidate.open(parent, CandidateStore.UNLIMITED));
        }
        return stores;
    }

    /**
     * Prepares a turn, which returns the mean duration of an operation in microseconds.
     *
     * @param number a number that is the same for all candidates, and for no other turn
     */
    Callable<Double> prepare(StoreCandidate candidate, Measure operation, Sizes sizes, int number) {
        if (operation == Measure.GET) {
            List<Id> ids = new ArrayList<>();
            workload.set(sizes, 0).forEach(item -> ids.add(item.id()));
            Collections.shuffle(ids, new Random(31L * number + worker));
            CandidateStore.Reader reader = Objects.requireNonNull(readers.get(candidate));
            System.gc(); // frees what earlier turns of the tier read
            return () -> {
                long start = System.nanoTime();
                for (Id id : ids) {
                    reader.get(id);
                }
                return (System.nanoTime() - start) / 1e3 / ids.size();
            };
        }
        List<Item> items = new ArrayList<>(
                operation == Measure.PUT ? newItems(sizes, number) : otherItems(candidate, sizes));
        Collections.shuffle(items, new Random(31L * number + worker));
        CandidateStore store = Objects.requireNonNull(stores.get(candidate));
        return () -> {
            long start = System.nanoTime();
            for (Item item : items) {
                store.put(item);
            }
            return (System.nanoTime() - start) / 1e3 / items.size();
        };
    }

    private List<Item> newItems(Sizes sizes, int turn) {
        int count = Math.max(1, workload.entries() / PUT_PART);
        int from = workload.entries() + (turn * MOST_WORKERS + worker) * count;
        return workload.items(sizes, from, from + count, 0);
    }

    /** Returns one of two contents by turns; version 0 is that of the filled stores. */
    private List<Item> otherItems(StoreCandidate candidate, Sizes sizes) {
        int turn = replaced.merge(candidate + " " + sizes, 1, Integer::sum);
        return workload.set(sizes, 1 + 2 * worker + turn % 2);
    }

    /**
     * Runs the turns that its input names, one a line. It answers with a line when the turn is
     * prepared, runs it at the next line, and answers with its figure. It ends with its input.
     * Arguments: parent directory, seed, entries, number of the worker, candidates.
     */
    public static void main(String[] arguments) throws Exception {
        List<StoreCandidate> candidates = new ArrayList<>();
        for (String name : arguments[4].split(",")) {
            candidates.add(StoreCandidate.valueOf(name));
        }
        Worker worker = new Worker(
                new LocalWorkload(Long.parseLong(arguments[1]), Integer.parseInt(arguments[2])),
                open(candidates, Path.of(arguments[0])),
                Integer.parseInt(arguments[3]));
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            Callable<Double> turn = worker.prepare(
                    StoreCandidate.valueOf(words[0]),
                    Measure.valueOf(words[1]),
                    Sizes.valueOf(words[2]),
                    Integer.parseInt(words[3]));
            System.out.println("ready");
            if (in.readLine() == null) {
                return;
            }
            System.out.println(turn.call());
        }
    }
}
