package dev.granary.local;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
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
        if (state.get(State.CHANGING) != 0) {
            Commit.finish(files);
            recount(files);
            return true;
        }
        return false;
    }

    private static boolean hasSoundIndex(StoreFiles files) {
        try {
            return files.index().count() == files.state().get(State.INDEX_SLOTS);
        } catch (IOException e) {
            return false;
        }
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
        state.set(State.NEXT_SEGMENT, Found.in(files.layout()).lastSegment + 1);
        recount(files);
        state.set(State.BOOT, boot);
    }

    /** Counts entries and bytes. */
    static void recount(StoreFiles files) throws IOException {
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
        state.set(State.SEALED_UNITS, Found.in(files.layout()).unitsWithout(Tail.segment(state.tail())));
    }

    /**
     * Goes over to a new index with the entries of {@code old}, or with none. Its file is complete before the state names it, and the old
     * one's goes afterwards.
     */
    static Index replaceIndex(StoreFiles files, @Nullable Index old, long generation, int slots, Step.Listener steps) throws IOException {
        State state = files.state();
        Index fresh = Index.create(files.layout().index(generation), generation, slots);
        long entries = 0;
        long units = 0;
        for (int slot = 0; old != null && slot < old.count(); slot++) {
            long location = old.location(slot);
            if (Tail.isLocation(location)
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
        Layout.each(files.layout().root(), file -> {
            if (Layout.generation(file).orElse(generation) != generation) {
                Files.deleteIfExists(file);
            }
        });
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
            Layout.each(layout.root(), found::indexFile);
            Layout.each(layout.segments(), file -> found.lastSegment = Math.max(found.lastSegment, Layout.segmentNumber(file).orElse(0)));
            return found;
        }

        /** Of several, the one with most entries counts: another was not finished, or not yet removed. */
        private void indexFile(Path file) throws IOException {
            long generation = Layout.generation(file).orElse(0);
            Index opened = generation == 0 ? null : Index.open(file, generation, FileChannel.MapMode.READ_WRITE);
            lastGeneration = Math.max(lastGeneration, generation);
            if (opened != null && (index == null || opened.countEntries() > entries)) {
                index = opened;
                entries = opened.countEntries();
            }
        }

        long unitsWithout(int active) throws IOException {
            units = 0;
            Layout.each(layout.segments(), file -> {
                long number = Layout.segmentNumber(file).orElse(active);
                units += number == active ? 0 : Tail.units(Files.size(file));
            });
            return units;
        }
    }
}
