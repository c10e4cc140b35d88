package dev.granary.local;

import static dev.granary.local.StoreStep.CLEARED;
import static dev.granary.local.StoreStep.EVICTED;
import static dev.granary.local.StoreStep.IN_PLACE;
import static dev.granary.local.StoreStep.PART_WRITTEN;
import static dev.granary.local.StoreStep.PUT_BACK;
import static dev.granary.local.StoreStep.SCANNED;
import static dev.granary.local.StoreStep.SET_ASIDE;
import static dev.granary.local.StoreStep.WRITTEN;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Operation of a process, and a step of it after which the process is stopped and then killed.
 *
 * @param work the operation
 * @param step the step of it
 */
record KillScenario(Work work, StoreStep step) {
    /** Size in bytes of each entry of a scenario. */
    static final int SIZE = 10_000;

    /** Capacity large enough for no unrequested eviction. */
    static final long CAPACITY = 16 << 20;

    private static final int OTHERS = 30;

    /**
     * Operation of a process. Before it, {@code old0} and {@code old1} are stored; {@code fresh} is
     * the entry that it may store.
     */
    enum Work {
        /** Stores the first entry, in a missing directory. */
        FIRST_STORE("store fresh " + SIZE, PART_WRITTEN, WRITTEN, IN_PLACE),
        /** Stores an entry among others. */
        STORE("store fresh " + SIZE, PART_WRITTEN, WRITTEN, IN_PLACE),
        /** Stores other content of an id. */
        REPLACE("store fresh " + SIZE, PART_WRITTEN, WRITTEN, IN_PLACE),
        /** Looks up a damaged entry. */
        LOAD_DAMAGED("load fresh " + SIZE, SET_ASIDE),
        /** Discards content that was replaced. */
        DISCARD_OLDER("discard fresh " + SIZE, SET_ASIDE, PUT_BACK),
        /** Removes all entries. */
        CLEAR("clear", CLEARED),
        /** Evicts. */
        LOWER_CAPACITY("capacity " + 10 * CapacitySweeper.onDisk(SIZE), SCANNED, EVICTED);

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
        void prepare(LocalTier tier) throws IOException {
            if (this == FIRST_STORE) {
                return;
            }
            for (int i = 0; i < OTHERS; i++) {
                tier.store(SharedEntries.entry("before" + i, SIZE));
            }
            if (this == REPLACE || this == LOAD_DAMAGED || this == DISCARD_OLDER) {
                tier.store(SharedEntries.entry("fresh", 2 * SIZE));
            }
            if (this == LOAD_DAMAGED) {
                Path file = StoreInvariants.file(
                        tier.directory(), SharedEntries.entry("fresh", SIZE).id());
                Files.write(file, new byte[SIZE]);
            }
            tier.store(SharedEntries.entry("old0", SIZE)); // last: never evicted first
            tier.store(SharedEntries.entry("old1", SIZE));
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

    /** Returns whether the old entries must be visible after the step. */
    boolean hasOldEntries() {
        return work != Work.FIRST_STORE && work != Work.CLEAR;
    }

    /** Returns whether the new entry is visible after the step. */
    boolean isCommitted() {
        return step == IN_PLACE;
    }

    @Override
    public String toString() {
        return work + " " + step;
    }
}
