package dev.granary.local;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Puts the state in order under the commit lock: after a process died in a change, after the machine was started anew, after the state or the
 * index was damaged. Entries are not read for it; each is verified when it is looked up.
 */
final class Recovery {
    private Recovery() {}

    /** Checks what the last holder of the lock left; returns true where something had to be put in order. */
    static boolean begin(StoreFiles files, long boot, Step.Listener steps) throws IOException {
        State state = files.state();
        boolean isOurs = state.get(State.MARK) == State.MAGIC;
        if (!isOurs || !hasSoundIndex(files)) {
            rebuild(files, boot, steps);
            return true;
        }
        if (state.get(State.BOOT) != boot) {
            restart(files, boot);
            return true;
        }
        if (state.get(State.CHANGING) != 0 || !hasPlausibleCounts(state)) {
            Commit.finish(files);
            recount(files);
            return true;
        }
        return false;
    }

    private static boolean hasSoundIndex(StoreFiles files) throws IOException {
        try {
            Index index = files.index();
            return index.count() == files.state().get(State.INDEX_SLOTS) && Layout.isThere(files.layout().index(index.generation()));
        } catch (NoSuchFileException e) {
            return false; // after any other error it may be there, and must not be replaced
        }
    }

    /** True where the counts can be right. */
    static boolean hasPlausibleCounts(State state) {
        long slots = state.get(State.INDEX_SLOTS);
        long entries = state.get(State.LIVE_ENTRIES);
        long occupied = state.get(State.OCCUPIED_SLOTS);
        return entries >= 0 && entries <= slots && occupied >= 0 && occupied <= slots
                && isPlausible(state.get(State.LIVE_UNITS)) && isPlausible(state.get(State.SEALED_UNITS));
    }

    private static boolean isPlausible(long units) {
        return units >= 0 && units <= State.MOST_UNITS;
    }

    /** Takes over what is left of the best index there is, and finds everything else out again. */
    private static void rebuild(StoreFiles files, long boot, Step.Listener steps) throws IOException {
        State state = files.state();
        state.set(State.MARK, 0);
        Found found = Found.in(files.layout());
        Index old = found.index;
        replaceIndex(files, old, found.lastGeneration + 1, Index.slotsFor(found.entries), steps);
        restart(files, boot);
        state.set(State.MARK, State.MAGIC);
    }

    /** After a power cut any page of any file may be older than another: nothing is written any more where something may already lie. */
    private static void restart(StoreFiles files, long boot) throws IOException {
        State state = files.state();
        state.set(State.TAIL, 0);
        state.set(State.ENTERING, 0);
        dropEntriesWithoutFile(files);
        long next = state.get(State.NEXT_SEGMENT); // processes may still map a removed segment with a number below it
        state.set(State.NEXT_SEGMENT, Math.max(Found.in(files.layout()).lastSegment + 1, next <= Tail.LAST_SEGMENT ? next : 0));
        recount(files);
        state.set(State.BOOT, boot);
    }

    /** The next segments take numbers that no file has: an entry that leads to such a number would lead into another's bytes. */
    private static void dropEntriesWithoutFile(StoreFiles files) throws IOException {
        Layout.requireDirectoryOrNothing(files.layout().segments()); // else the files are only hidden
        Set<Integer> numbers = new HashSet<>();
        Layout.each(files.layout().segments(), file -> Layout.segmentNumber(file).ifPresent(number -> numbers.add((int) number)));
        Index index = files.index();
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            if (location != 0 && (!Tail.isLocation(location) || !numbers.contains(Tail.segment(location)))) {
                index.remove(slot);
            }
        }
    }

    /** Counts entries and bytes. */
    static void recount(StoreFiles files) throws IOException {
        recountEntries(files);
        files.state().set(State.SEALED_UNITS, Found.in(files.layout()).unitsWithout(Tail.segment(files.state().tail())));
    }

    /** Counts entries and what they take. */
    static void recountEntries(StoreFiles files) throws IOException {
        State state = files.state();
        Index index = files.index();
        long units = 0;
        long entries = 0;
        long occupied = 0;
        for (int slot = 0; slot < index.count(); slot++) {
            occupied += index.tagOf(slot) != 0 ? 1 : 0;
            if (index.location(slot) != 0) {
                entries++;
                units += index.units(slot);
            }
        }
        state.set(State.LIVE_ENTRIES, entries);
        state.set(State.LIVE_UNITS, units);
        state.set(State.OCCUPIED_SLOTS, occupied);
    }

    /**
     * Goes over to a new index with the entries of {@code old}, or with none. Its file is complete before the state names it, and the old
     * one's goes afterwards.
     */
    static Index replaceIndex(StoreFiles files, @Nullable Index old, long wanted, int slots, Step.Listener steps) throws IOException {
        State state = files.state();
        long generation = files.layout().freeGeneration(wanted);
        Index fresh = Index.create(files.layout().index(generation), generation, slots);
        long entries = 0;
        long units = 0;
        for (int slot = 0; old != null && slot < old.count(); slot++) {
            long location = old.location(slot);
            if (old.tagOf(slot) != 0 && Tail.isLocation(location)
                    && fresh.insert(old.tagOf(slot), location, old.units(slot), old.storedSeconds(slot), old.usedMicros(slot)) >= 0) {
                entries++;
                units += old.units(slot);
            }
        }
        steps.done(Step.INDEX_WRITTEN);
        state.set(State.LIVE_ENTRIES, entries);
        state.set(State.LIVE_UNITS, units);
        state.set(State.OCCUPIED_SLOTS, entries);
        state.set(State.INDEX_SLOTS, slots);
        state.set(State.GENERATION, generation);
        files.use(fresh);
        steps.done(Step.INDEX_REPLACED);
        Disposer.removeOtherIndexes(files);
        return fresh;
    }

    /** What the directory shows of a store whose state cannot be relied on. */
    private static final class Found {
        private long lastGeneration;
        private @Nullable Index index;
        private long entries;
        private long lastSegment;
        private long units;
        private final Layout layout;

        private Found(Layout layout) {
            this.layout = layout;
        }

        static Found in(Layout layout) throws IOException {
            Found found = new Found(layout);
            layout.eachIndex(found::indexFile);
            layout.eachSegment((_, number) -> found.lastSegment = Math.max(found.lastSegment, number));
            return found;
        }

        /** Of several, the one with most entries counts: another was not finished, or not yet removed. */
        private void indexFile(Path file, long generation) throws IOException {
            Index opened = Index.open(file, generation, FileChannel.MapMode.READ_WRITE);
            lastGeneration = Math.max(lastGeneration, generation);
            if (opened != null && (index == null || opened.countEntries() > entries)) {
                index = opened;
                entries = opened.countEntries();
            }
        }

        long unitsWithout(int active) throws IOException {
            units = 0;
            layout.eachSegment((file, number) -> units += number == active ? 0 : Tail.units(Files.size(file)));
            return units;
        }
    }
}
