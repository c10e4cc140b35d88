package dev.granary.local.store;

import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/**
 * Recovery of the state page under the commit lock. It is needed after a process died during a
 * change, after a boot of the machine, and after damage to the state page or the index. It reads no
 * entries; each is verified when it is looked up.
 */
public final class StoreRecovery {
    private StoreRecovery() {}

    /**
     * Checks the state that the last holder of the lock left; returns whether it needed recovery.
     */
    static boolean recoverIfNeeded(OpenStoreFiles files, long boot, StoreStep.Listener steps)
            throws IOException {
        StatePage state = files.state();
        boolean isInitialized = state.get(StatePage.MARK) == StatePage.MAGIC;
        if (!isInitialized || !hasSoundIndex(files)) {
            rebuild(files, boot, steps);
            return true;
        }
        if (state.get(StatePage.BOOT) != boot) {
            restart(files, boot);
            return true;
        }
        if (state.get(StatePage.CHANGE_IN_PROGRESS) != 0 || !hasPlausibleCounts(state)) {
            CommitJournal.recover(files);
            recount(files);
            return true;
        }
        return false;
    }

    private static boolean hasSoundIndex(OpenStoreFiles files) throws IOException {
        try {
            EntryIndex index = files.index();
            return index.count() == files.state().get(StatePage.INDEX_SLOTS)
                    && StoreLayout.exists(files.layout().index(index.generation()));
        } catch (NoSuchFileException e) {
            return false; // after any other error it may exist, and must not be replaced
        }
    }

    /** Returns whether the counts are plausible. */
    static boolean hasPlausibleCounts(StatePage state) {
        long slots = state.get(StatePage.INDEX_SLOTS);
        long entries = state.get(StatePage.LIVE_ENTRIES);
        long occupied = state.get(StatePage.OCCUPIED_SLOTS);
        return entries >= 0
                && entries <= slots
                && occupied >= 0
                && occupied <= slots
                && isPlausible(state.get(StatePage.LIVE_UNITS))
                && isPlausible(state.get(StatePage.SEALED_UNITS));
    }

    private static boolean isPlausible(long units) {
        return units >= 0 && units <= StatePage.MAX_UNITS;
    }

    /** Copies the best existing index into a new one, and recovers everything else. */
    private static void rebuild(OpenStoreFiles files, long boot, StoreStep.Listener steps)
            throws IOException {
        StatePage state = files.state();
        state.set(StatePage.MARK, 0);
        DirectoryScan scan = DirectoryScan.in(files.layout());
        EntryIndex old = scan.index;
        replaceIndex(files, old, scan.lastGeneration + 1, EntryIndex.slotsFor(scan.entries), steps);
        restart(files, boot);
        state.set(StatePage.MARK, StatePage.MAGIC);
    }

    /**
     * Recovers after a boot. A power cut may have left pages of different ages in any file, so
     * nothing is written any more where an entry may lie.
     */
    private static void restart(OpenStoreFiles files, long boot) throws IOException {
        StatePage state = files.state();
        state.set(StatePage.APPEND_POSITION, 0);
        CommitJournal.end(state);
        dropEntriesWithoutFile(files);
        // processes may still map a removed segment with a lower number
        long next = state.get(StatePage.NEXT_SEGMENT);
        state.set(
                StatePage.NEXT_SEGMENT,
                Math.max(
                        DirectoryScan.in(files.layout()).lastSegment + 1,
                        next <= EntryLocation.LAST_SEGMENT ? next : 0));
        recount(files);
        state.set(StatePage.BOOT, boot);
    }

    /**
     * Removes entries of missing segments. New segments may take the numbers of missing files, and
     * such an entry would then lead into the bytes of another.
     */
    private static void dropEntriesWithoutFile(OpenStoreFiles files) throws IOException {
        // otherwise the files are only hidden
        StoreLayout.requireDirectoryOrNothing(files.layout().segments());
        Set<Integer> numbers = new HashSet<>();
        StoreLayout.forEachChild(files.layout().segments(), file -> StoreLayout.segmentNumber(file)
                .ifPresent(number -> numbers.add((int) number)));
        EntryIndex index = files.index();
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            if (location != 0
                    && (!EntryLocation.isLocation(location)
                            || !numbers.contains(EntryLocation.segment(location)))) {
                index.remove(slot);
            }
        }
    }

    /** Recounts entries and bytes on disk. */
    public static void recount(OpenStoreFiles files) throws IOException {
        recountEntries(files);
        files.state()
                .set(
                        StatePage.SEALED_UNITS,
                        DirectoryScan.in(files.layout())
                                .unitsWithout(
                                        EntryLocation.segment(files.state().appendPosition())));
    }

    /** Recounts the entries and their units. */
    public static void recountEntries(OpenStoreFiles files) throws IOException {
        StatePage state = files.state();
        EntryIndex index = files.index();
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
        state.set(StatePage.LIVE_ENTRIES, entries);
        state.set(StatePage.LIVE_UNITS, units);
        state.set(StatePage.OCCUPIED_SLOTS, occupied);
    }

    /**
     * Switches to a new index with the entries of {@code old}, or with none. Its file is complete
     * before the state page names it, and the old file is removed afterwards.
     */
    static EntryIndex replaceIndex(
            OpenStoreFiles files,
            @Nullable EntryIndex old,
            long firstGeneration,
            int slots,
            StoreStep.Listener steps)
            throws IOException {
        StatePage state = files.state();
        long generation = files.layout().freeGeneration(firstGeneration);
        EntryIndex created = EntryIndex.create(files.layout().index(generation), generation, slots);
        long entries = 0;
        long units = 0;
        for (int slot = 0; old != null && slot < old.count(); slot++) {
            long location = old.location(slot);
            if (old.tagOf(slot) != 0
                    && EntryLocation.isLocation(location)
                    && created.insert(
                                    old.tagOf(slot),
                                    location,
                                    old.units(slot),
                                    old.storedSeconds(slot),
                                    old.usedMicros(slot))
                            >= 0) {
                entries++;
                units += old.units(slot);
            }
        }
        steps.done(StoreStep.INDEX_WRITTEN);
        state.set(StatePage.LIVE_ENTRIES, entries);
        state.set(StatePage.LIVE_UNITS, units);
        state.set(StatePage.OCCUPIED_SLOTS, entries);
        state.set(StatePage.INDEX_SLOTS, slots);
        state.set(StatePage.GENERATION, generation);
        files.switchTo(created);
        steps.done(StoreStep.INDEX_REPLACED);
        FileDisposer.removeOtherIndexes(files);
        return created;
    }

    /** Result of scanning a directory whose state page is unreliable. */
    private static final class DirectoryScan {
        private long lastGeneration;
        private @Nullable EntryIndex index;
        private long entries;
        private long lastSegment;
        private long units;
        private final StoreLayout layout;

        private DirectoryScan(StoreLayout layout) {
            this.layout = layout;
        }

        static DirectoryScan in(StoreLayout layout) throws IOException {
            DirectoryScan scan = new DirectoryScan(layout);
            layout.forEachIndex(scan::indexFile);
            layout.forEachSegment(
                    (_, number) -> scan.lastSegment = Math.max(scan.lastSegment, number));
            return scan;
        }

        /** Selects the index with the most entries: any other is unfinished, or not yet removed. */
        private void indexFile(Path file, long generation) throws IOException {
            EntryIndex opened = EntryIndex.open(file, generation, FileChannel.MapMode.READ_WRITE);
            lastGeneration = Math.max(lastGeneration, generation);
            if (opened != null && (index == null || opened.countEntries() > entries)) {
                index = opened;
                entries = opened.countEntries();
            }
        }

        long unitsWithout(int active) throws IOException {
            units = 0;
            layout.forEachSegment((file, number) ->
                    units += number == active ? 0 : EntryLocation.units(Files.size(file)));
            return units;
        }
    }
}
