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

/**
 * Something that a process does, and a step in it after which it is stopped and then killed.
 *
 * @param work what the process does
 * @param step after which of its steps
 */
record KillScenario(Work work, StoreStep step) {
    /** What each entry of a scenario has in bytes. */
    static final int SIZE = 10_000;

    /** Small enough for segments of one MiB, large enough that nothing is evicted unasked. */
    static final long CAPACITY = 16 << 20;

    private static final int IN_A_SEGMENT = (1 << 20) / (SIZE + 500); // at least as many fit
    private static final Set<StoreStep> UNLOCKED =
            EnumSet.of(RESERVED, PART_WRITTEN, COMMITTED, CLOSED, EVICTED, PUNCHED, MOVED, MARKED_GONE, REMOVED);

    /** What a process can be doing. Before it does, {@code old0} and {@code old1} are stored; {@code fresh} is what it may store. */
    enum Work {
        /** Stores one entry. */
        STORE("store fresh " + SIZE, RESERVED, PART_WRITTEN, LOCKED, MARKED, ENTERED, COUNTED, COMMITTED),
        /** Stores several with one change, the new entry first. */
        STORE_SEVERAL("several fresh 3 " + SIZE, RESERVED, PART_WRITTEN, LOCKED, MARKED, ENTERED, COUNTED, COMMITTED),
        /** Stores the first entry of all, in a directory that is not there. */
        FIRST_STORE("store fresh " + SIZE, LOCKED, INDEX_WRITTEN, INDEX_REPLACED, MARKED, SEGMENT_CREATED, APPEND_POSITION_MOVED, RESERVED, PART_WRITTEN,
                ENTERED, COUNTED, COMMITTED),
        /** Stores another content under an id. */
        REPLACE("store fresh " + SIZE, PART_WRITTEN, MARKED, ANNOUNCED, ENTERED, COUNTED, COMMITTED),
        /** Stores until a segment is full. */
        FILL_SEGMENT("many filler 200 " + SIZE, SEGMENT_CREATED, APPEND_POSITION_MOVED),
        /** Stores until the index is full. */
        FILL_INDEX("many filler 200 100", INDEX_WRITTEN, INDEX_REPLACED),
        /** Removes all entries. */
        CLEAR("clear", LOCKED, MARKED, APPEND_POSITION_MOVED, CLOSED, MARKED_GONE, REMOVED),
        /** Gives a segment back of which every other entry left. */
        SWEEP_HALVED("sweep", MARKED, CLOSED, PUNCHED),
        /** Gives a segment back of which all but a few entries left. */
        SWEEP_SPARSE("sweep", MOVED, MARKED_GONE, REMOVED, RESERVED, PART_WRITTEN),
        /** Gives a segment back of which all entries left. */
        SWEEP_EMPTY("sweep", MARKED_GONE, REMOVED),
        /** Evicts. */
        LOWER_CAPACITY("capacity " + 2 * (1 << 20), MARKED, EVICTED, MARKED_GONE, REMOVED);

        private final String command;
        private final List<StoreStep> steps;

        Work(String command, StoreStep... steps) {
            this.command = command;
            this.steps = List.of(steps);
        }

        /** What the process is told. */
        String command() {
            return command;
        }

        /** Stores what is there before. */
        void prepare(LocalTier tier) {
            if (this == FIRST_STORE) {
                return;
            }
            switch (this) {
                case REPLACE -> tier.store(SharedEntries.entry("fresh", 2 * SIZE));
                case FILL_INDEX -> store(tier, EntryIndex.MIN_SLOTS * 5 / 8 - 50, 100);
                case SWEEP_HALVED, SWEEP_SPARSE, SWEEP_EMPTY, LOWER_CAPACITY -> store(tier, 3 * IN_A_SEGMENT, SIZE);
                case STORE, STORE_SEVERAL, FIRST_STORE, FILL_SEGMENT, CLEAR -> {}
            }
            int kept = switch (this) {
                case SWEEP_HALVED -> 2;
                case SWEEP_SPARSE -> 10;
                case SWEEP_EMPTY -> Integer.MAX_VALUE;
                default -> 1;
            };
            for (int i = 0; kept > 1 && i < IN_A_SEGMENT + 5; i++) {
                if (kept == Integer.MAX_VALUE || i % kept != 1) {
                    tier.discard(SharedEntries.entry("before" + i, SIZE));
                }
            }
            tier.store(SharedEntries.entry("old0", SIZE)); // last: never in the segments that are emptied, never evicted first
            tier.store(SharedEntries.entry("old1", SIZE));
        }

        private static void store(LocalTier tier, int count, int size) {
            for (int i = 0; i < count; i++) {
                tier.store(SharedEntries.entry("before" + i, size));
            }
        }
    }

    /** All there are. */
    static List<KillScenario> all() {
        List<KillScenario> all = new ArrayList<>();
        for (Work work : Work.values()) {
            work.steps.forEach(step -> all.add(new KillScenario(work, step)));
        }
        return all;
    }

    /** Those in which others can go on while the process stands still, once for each way of working. */
    static List<KillScenario> unlocked() {
        Set<Work> works = EnumSet.of(Work.STORE, Work.STORE_SEVERAL, Work.SWEEP_HALVED, Work.SWEEP_SPARSE, Work.LOWER_CAPACITY);
        return all().stream().filter(each -> !each.holdsLock() && works.contains(each.work)).toList();
    }

    /** True where the process holds the commit lock after the step. */
    boolean holdsLock() {
        return !UNLOCKED.contains(step);
    }

    /** True where the old entries are there after the step. */
    boolean keepsOld() {
        return work != Work.FIRST_STORE
                && (work != Work.CLEAR || EnumSet.of(LOCKED, MARKED).contains(step));
    }

    /** True where the new entry is there after the step. */
    boolean isCommitted() {
        return EnumSet.of(Work.STORE, Work.STORE_SEVERAL, Work.FIRST_STORE, Work.REPLACE).contains(work)
                && EnumSet.of(ENTERED, COUNTED, COMMITTED).contains(step);
    }

    @Override
    public String toString() {
        return work + " " + step;
    }
}
