package dev.granary.local;

import static dev.granary.local.file.StoreStep.ANNOUNCED;
import static dev.granary.local.file.StoreStep.APPEND_POSITION_MOVED;
import static dev.granary.local.file.StoreStep.CLOSED;
import static dev.granary.local.file.StoreStep.COMMITTED;
import static dev.granary.local.file.StoreStep.COUNTED;
import static dev.granary.local.file.StoreStep.ENTERED;
import static dev.granary.local.file.StoreStep.EVICTED;
import static dev.granary.local.file.StoreStep.INDEX_REPLACED;
import static dev.granary.local.file.StoreStep.INDEX_WRITTEN;
import static dev.granary.local.file.StoreStep.LOCKED;
import static dev.granary.local.file.StoreStep.MARKED;
import static dev.granary.local.file.StoreStep.MARKED_GONE;
import static dev.granary.local.file.StoreStep.MOVED;
import static dev.granary.local.file.StoreStep.PART_WRITTEN;
import static dev.granary.local.file.StoreStep.PUNCHED;
import static dev.granary.local.file.StoreStep.REMOVED;
import static dev.granary.local.file.StoreStep.RESERVED;
import static dev.granary.local.file.StoreStep.SEGMENT_CREATED;

import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.StoreStep;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * Operation of a process, and a step of it after which the process is stopped and then killed.
 *
 * @param work the operation
 * @param step the step of it
 */
record KillScenario(Work work, StoreStep step) {
    /** Size in bytes of each entry of a scenario. */
    static final int SIZE = 10_000;

    /** Capacity small enough for segments of 1 MiB, large enough for no unrequested eviction. */
    static final long CAPACITY = 16 << 20;

    private static final int IN_A_SEGMENT = (1 << 20) / (SIZE + 500); // at least as many fit
    private static final Set<StoreStep> UNLOCKED = EnumSet.of(
            RESERVED,
            PART_WRITTEN,
            COMMITTED,
            CLOSED,
            EVICTED,
            PUNCHED,
            MOVED,
            MARKED_GONE,
            REMOVED);

    /**
     * Operation of a process. Before it, {@code old0} and {@code old1} are stored; {@code fresh} is
     * the entry that it may store.
     */
    enum Work {
        /** Stores one entry. */
        STORE(
                "store fresh " + SIZE,
                RESERVED,
                PART_WRITTEN,
                LOCKED,
                MARKED,
                ENTERED,
                COUNTED,
                COMMITTED),
        /** Stores several with one change, the new entry first. */
        STORE_SEVERAL(
                "several fresh 3 " + SIZE,
                RESERVED,
                PART_WRITTEN,
                LOCKED,
                MARKED,
                ENTERED,
                COUNTED,
                COMMITTED),
        /** Stores the first entry, in a missing directory. */
        FIRST_STORE(
                "store fresh " + SIZE,
                LOCKED,
                INDEX_WRITTEN,
                INDEX_REPLACED,
                MARKED,
                SEGMENT_CREATED,
                APPEND_POSITION_MOVED,
                RESERVED,
                PART_WRITTEN,
                ENTERED,
                COUNTED,
                COMMITTED),
        /** Stores other content of an id. */
        REPLACE(
                "store fresh " + SIZE,
                PART_WRITTEN,
                MARKED,
                ANNOUNCED,
                ENTERED,
                COUNTED,
                COMMITTED),
        /** Stores until a segment is full. */
        FILL_SEGMENT("many filler 200 " + SIZE, SEGMENT_CREATED, APPEND_POSITION_MOVED),
        /** Stores until the index is full. */
        FILL_INDEX("many filler 200 100", INDEX_WRITTEN, INDEX_REPLACED),
        /** Removes all entries. */
        CLEAR("clear", LOCKED, MARKED, APPEND_POSITION_MOVED, CLOSED, MARKED_GONE, REMOVED),
        /** Reclaims from a segment of which every other entry was removed. */
        SWEEP_HALVED("sweep", MARKED, CLOSED, PUNCHED),
        /** Reclaims a segment of which all but a few entries were removed. */
        SWEEP_SPARSE("sweep", MOVED, MARKED_GONE, REMOVED, RESERVED, PART_WRITTEN),
        /** Reclaims a segment of which all entries were removed. */
        SWEEP_EMPTY("sweep", MARKED_GONE, REMOVED),
        /** Evicts. */
        LOWER_CAPACITY("capacity " + 2 * (1 << 20), MARKED, EVICTED, MARKED_GONE, REMOVED);

        private final String command;
        private final List<StoreStep> steps;

        Work(String command, StoreStep... steps) {
            this.command = command;
            this.steps = List.of(steps);
        }

        /** Returns the command for the process. */
        String command() {
            return command;
        }

        /** Stores the entries that exist before the operation. */
        void prepare(LocalTier tier) {
            if (this == FIRST_STORE) {
                return;
            }
            switch (this) {
                case REPLACE -> tier.store(SharedEntries.entry("fresh", 2 * SIZE));
                case FILL_INDEX -> store(tier, EntryIndex.MIN_SLOTS * 5 / 8 - 50, 100);
                case SWEEP_HALVED, SWEEP_SPARSE, SWEEP_EMPTY, LOWER_CAPACITY ->
                    store(tier, 3 * IN_A_SEGMENT, SIZE);
                case STORE, STORE_SEVERAL, FIRST_STORE, FILL_SEGMENT, CLEAR -> {}
            }
            int keptEvery =
                    switch (this) {
                        case SWEEP_HALVED -> 2;
                        case SWEEP_SPARSE -> 10;
                        case SWEEP_EMPTY -> Integer.MAX_VALUE;
                        default -> 1;
                    };
            for (int i = 0; keptEvery > 1 && i < IN_A_SEGMENT + 5; i++) {
                if (keptEvery == Integer.MAX_VALUE || i % keptEvery != 1) {
                    tier.discard(SharedEntries.entry("before" + i, SIZE));
                }
            }
            // last: never in the emptied segments, never evicted first
            tier.store(SharedEntries.entry("old0", SIZE));
            tier.store(SharedEntries.entry("old1", SIZE));
        }

        private static void store(LocalTier tier, int count, int size) {
            for (int i = 0; i < count; i++) {
                tier.store(SharedEntries.entry("before" + i, size));
            }
        }
    }

    /** Returns all scenarios. */
    static List<KillScenario> all() {
        List<KillScenario> all = new ArrayList<>();
        for (Work work : Work.values()) {
            work.steps.forEach(step -> all.add(new KillScenario(work, step)));
        }
        return all;
    }

    /** Returns one scenario for each step, each of an operation drawn from {@code random}. */
    static List<KillScenario> oneForEachStep(RandomGenerator random) {
        TreeMap<StoreStep, List<KillScenario>> byStep = all().stream()
                .collect(Collectors.groupingBy(
                        KillScenario::step, TreeMap::new, Collectors.toList()));
        return byStep.values().stream()
                .map(same -> same.get(random.nextInt(same.size())))
                .toList();
    }

    /**
     * Returns the scenarios in which others can continue while the process stalls, once for each
     * kind of operation.
     */
    static List<KillScenario> unlocked() {
        Set<Work> works = EnumSet.of(
                Work.STORE,
                Work.STORE_SEVERAL,
                Work.SWEEP_HALVED,
                Work.SWEEP_SPARSE,
                Work.LOWER_CAPACITY);
        return all().stream()
                .filter(each -> !each.holdsLock() && works.contains(each.work))
                .toList();
    }

    /** Returns whether the process holds the commit lock after the step. */
    boolean holdsLock() {
        return !UNLOCKED.contains(step);
    }

    /** Returns whether the old entries are visible after the step. */
    boolean hasOldEntries() {
        return work != Work.FIRST_STORE
                && (work != Work.CLEAR || EnumSet.of(LOCKED, MARKED).contains(step));
    }

    /** Returns whether the new entry is visible after the step. */
    boolean isCommitted() {
        return EnumSet.of(Work.STORE, Work.STORE_SEVERAL, Work.FIRST_STORE, Work.REPLACE)
                        .contains(work)
                && EnumSet.of(ENTERED, COUNTED, COMMITTED).contains(step);
    }

    @Override
    public String toString() {
        return work + " " + step;
    }
}
