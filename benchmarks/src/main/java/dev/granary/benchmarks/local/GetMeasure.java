package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.store.CandidateStore;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkload;
import dev.granary.benchmarks.local.workload.LocalWorkspace;
import dev.granary.benchmarks.local.workload.Rounds;
import dev.granary.benchmarks.local.workload.Stopwatch;
import dev.granary.cache.Id;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/**
 * Measure of lookups in filled stores with a warm page cache: of all sizes, of about 32 KiB, and of
 * all sizes by two threads.
 */
final class GetMeasure {
    private static final int WARM_ROUNDS = 3;
    private static final int LEAST_GETS = 2000;
    private static final double ALL_KEPT_GOAL = 0.75;
    private static final double TYPICAL_KEPT_GOAL = 0.55;

    private final LocalSettings settings;
    private final LocalWorkspace workplace;
    private final Rounds all = new Rounds();
    private final Rounds allProcessor = new Rounds();
    private final Rounds typical = new Rounds();
    private final Rounds twoThreads = new Rounds();
    private @Nullable MemoryLimit limit;

    GetMeasure(LocalSettings settings, LocalWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    void run(OpenCandidates stores, LocalWorkload material)
            throws IOException, InterruptedException {
        Map<StoreCandidate, List<CandidateStore.Reader>> readers =
                new EnumMap<>(StoreCandidate.class);
        for (StoreCandidate candidate : settings.candidates()) {
            CandidateStore store = stores.of(candidate);
            readers.put(candidate, List.of(store.reader(candidate), store.reader(candidate)));
        }
        MemoryLimit memory =
                new MemoryLimit(workplace.directory("limit"), material.sizes(), settings.seed());
        limit = memory;
        List<Id> ids = material.ids();
        List<Id> typicalIds = repeated(material.typicalIds());
        for (int round = 0; round < WARM_ROUNDS + settings.rounds(); round++) {
            workplace.say("get, round " + (round + 1) + " of " + (WARM_ROUNDS + settings.rounds()));
            List<Id> order = shuffled(ids, 2L * round);
            List<Id> other = shuffled(ids, 2L * round + 1);
            List<Id> typicalOrder = shuffled(typicalIds, round);
            for (StoreCandidate candidate :
                    Rounds.turn(settings.candidates(), settings.seed(), round)) {
                List<CandidateStore.Reader> own = Objects.requireNonNull(readers.get(candidate));
                long before = OutsideHeap.bytes();
                Stopwatch.Micros allMicros = microsEach(order, own.getFirst());
                double typicalMicros = typicalOrder.isEmpty()
                        ? Double.NaN
                        : microsEach(typicalOrder, own.getFirst()).wall();
                OutsideHeap.letGo(candidate, before);
                double threadMicros = microsOfTwo(own, order, other);
                OutsideHeap.letGo(candidate, before);
                if (round >= WARM_ROUNDS) {
                    all.add(candidate, allMicros.wall());
                    allProcessor.add(candidate, allMicros.processor());
                    typical.add(candidate, typicalMicros);
                    twoThreads.add(candidate, threadMicros);
                }
            }
            memory.round(round, round < WARM_ROUNDS ? Double.NaN : all.last(StoreCandidate.RAW));
        }
        for (List<CandidateStore.Reader> own : readers.values()) {
            for (CandidateStore.Reader reader : own) {
                reader.close();
            }
        }
        memory.close();
    }

    /** Adds the row of the lower bound. */
    void limitRow(ReportSection section) {
        if (limit != null) {
            limit.row(section);
        }
    }

    /** Returns the figures of a candidate, in the order of the columns of {@link GetSection}. */
    double[] figures(StoreCandidate candidate) {
        return new double[] {
            all.median(candidate),
            all.ratioToRaw(candidate),
            allProcessor.ratioToRaw(candidate),
            typical.median(candidate),
            typical.ratioToRaw(candidate),
            twoThreads.median(candidate),
            twoThreads.ratioToRaw(candidate)
        };
    }

    double ratioOfTier() {
        return all.ratioToRaw(StoreCandidate.TIER);
    }

    /** Adds the goals of the call that lookups make, whose memory the garbage collector frees. */
    void keptGoals(ReportSection section) {
        keptGoal(section, "all sizes", ALL_KEPT_GOAL, all);
        keptGoal(section, "32 KiB", TYPICAL_KEPT_GOAL, typical);
        keptGoal(section, "two threads", ALL_KEPT_GOAL, twoThreads);
    }

    private static void keptGoal(ReportSection section, String name, double limit, Rounds rounds) {
        section.goal(new Goal(
                "tier-kept / raw-kept, " + name,
                Goal.Bound.AT_MOST,
                limit,
                rounds.ratio(StoreCandidate.TIER_KEPT, StoreCandidate.RAW_KEPT)));
    }

    private static Stopwatch.Micros microsEach(List<Id> ids, CandidateStore.Reader reader)
            throws IOException {
        Stopwatch stopwatch = new Stopwatch();
        for (Id id : ids) {
            if (reader.get(id) == CandidateStore.Reader.ABSENT) {
                throw new IOException("no hit: " + id);
            }
        }
        return stopwatch.each(ids.size());
    }

    /** Returns the mean of two threads that read concurrently, each in its own order. */
    private static double microsOfTwo(
            List<CandidateStore.Reader> readers, List<Id> order, List<Id> other)
            throws IOException, InterruptedException {
        double[] micros = new double[1];
        List<Throwable> problems = Collections.synchronizedList(new ArrayList<>());
        Thread second = Thread.ofPlatform().start(() -> {
            try {
                micros[0] = microsEach(other, readers.getLast()).wall();
            } catch (Throwable e) { // else the mean would contain 0 for it
                problems.add(e);
            }
        });
        double mine = microsEach(order, readers.getFirst()).wall();
        second.join();
        if (!problems.isEmpty()) {
            throw new IOException("The second thread failed", problems.getFirst());
        }
        return (mine + micros[0]) / 2;
    }

    private List<Id> shuffled(List<Id> ids, long salt) {
        List<Id> order = new ArrayList<>(ids);
        Collections.shuffle(order, new Random(settings.seed() * 1009 + salt));
        return order;
    }

    private static List<Id> repeated(List<Id> ids) {
        List<Id> repeated = new ArrayList<>(ids);
        while (!ids.isEmpty() && repeated.size() < LEAST_GETS) {
            repeated.addAll(ids);
        }
        return repeated;
    }
}
