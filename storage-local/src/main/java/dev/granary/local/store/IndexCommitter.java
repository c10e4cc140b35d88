package dev.granary.local.store;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Committer of entries: they are written, then enter the index with one change under the commit
 * lock, in place of other entries of their ids. Thread-safe.
 */
public final class IndexCommitter {
    private static final int ATTEMPTS = 5;
    private static final int MICROS_PER_SECOND = 1_000_000;

    private final SegmentStore store;
    private final EntryReader reader;
    private final SegmentAppender appender;

    public IndexCommitter(SegmentStore store, EntryReader reader) {
        this.store = store;
        this.reader = reader;
        this.appender = new SegmentAppender(store);
    }

    /** Entry that is being stored: first written, then committed. For one thread. */
    public static final class PendingEntry {
        private final Entry entry;
        private final List<MemorySegment> parts;
        private final boolean replacesDamaged;
        private final long length;
        private SegmentAppender.@Nullable Written written; // null if it must be written again
        private boolean committed;

        /**
         * Creates a pending entry for an entry that the store lacks.
         *
         * @param entry the entry
         * @param parts the encoded entry
         * @param replacesDamaged whether it will replace a damaged entry
         */
        public PendingEntry(Entry entry, List<MemorySegment> parts, boolean replacesDamaged) {
            this.entry = entry;
            this.parts = parts;
            this.replacesDamaged = replacesDamaged;
            this.length = parts.stream().mapToLong(MemorySegment::byteSize).sum();
        }

        public Entry entry() {
            return entry;
        }

        public boolean replacesDamaged() {
            return replacesDamaged;
        }

        public long length() {
            return length;
        }

        public boolean isCommitted() {
            return committed;
        }
    }

    /** Writes an entry, which stays invisible until it is committed. */
    public void write(PendingEntry pending, long capacity) throws IOException {
        SegmentAppender.Written written = appender.append(pending.parts, pending.length, capacity);
        pending.written = written.location() == 0 ? null : written;
    }

    /**
     * Commits written entries with one change; other entries of their ids are removed with it. If
     * this method throws, some may have been committed.
     */
    public void commit(List<PendingEntry> all, long capacity, long nowMicros) throws IOException {
        List<PendingEntry> remaining = all;
        for (int attempt = 1; !remaining.isEmpty(); attempt++) {
            for (PendingEntry pending : remaining) {
                if (pending.written == null) { // its segment was removed
                    write(pending, capacity);
                }
            }
            List<PendingEntry> batch = remaining;
            store.change(files -> {
                OpenSegments open = new OpenSegments(files);
                for (PendingEntry pending : batch) {
                    commitOne(files, open, pending, nowMicros);
                }
                return true;
            });
            store.steps().done(StoreStep.COMMITTED);
            remaining = remaining.stream().filter(pending -> !pending.committed).toList();
            if (!remaining.isEmpty() && attempt == ATTEMPTS) {
                throw new IOException("the segment of an entry was removed at each of " + ATTEMPTS
                        + " attempts to write it");
            }
        }
    }

    /**
     * Cache of the segments that take entries, checked once each: only the holder of the lock
     * closes a segment.
     */
    private static final class OpenSegments {
        private final OpenStoreFiles files;
        private final Map<Integer, Boolean> known = new HashMap<>();

        OpenSegments(OpenStoreFiles files) {
            this.files = files;
        }

        boolean has(long location) throws IOException {
            Boolean cached = known.get(EntryLocation.segment(location));
            if (cached == null) {
                cached = isOpen(files, location);
                known.put(EntryLocation.segment(location), cached);
            }
            return cached;
        }
    }

    private void commitOne(
            OpenStoreFiles files, OpenSegments open, PendingEntry pending, long nowMicros)
            throws IOException {
        SegmentAppender.Written written = pending.written;
        if (written != null && files == written.files() && open.has(written.location())) {
            insert(
                    files,
                    pending.entry.id(),
                    written.location(),
                    EntryLocation.units(pending.length),
                    nowMicros);
            pending.committed = true;
        } else {
            // a sweep closed the segment in the meantime, or its file was removed
            pending.written = null;
        }
    }

    private void insert(OpenStoreFiles files, Id id, long location, long units, long nowMicros)
            throws IOException {
        StatePage state = files.state();
        EntryIndex index = indexWithRoom(files, nowMicros);
        List<Integer> replaced = slotsOf(files, index, id);
        CommitJournal.begin(state, index, location, reader.tag(id), replaced);
        store.steps().done(StoreStep.ANNOUNCED);
        int newSlots = index.insert(
                reader.tag(id),
                location,
                units,
                Math.min(nowMicros / MICROS_PER_SECOND, 0xffff_ffffL),
                nowMicros);
        if (newSlots < 0) {
            throw new IOException("the index has no room for another entry");
        }
        store.steps().done(StoreStep.ENTERED);
        state.add(StatePage.OCCUPIED_SLOTS, newSlots);
        state.add(StatePage.LIVE_ENTRIES, 1);
        state.add(StatePage.LIVE_UNITS, units);
        if (!replaced.isEmpty()) {
            // the new entry may be in a slot that a lookup's probe has passed
            state.add(StatePage.REPLACEMENTS, 1);
        }
        for (int slot : replaced) {
            EntryRemover.removeSlot(state, index, slot);
        }
        CommitJournal.end(state);
        store.steps().done(StoreStep.COUNTED);
    }

    /**
     * Returns whether an entry may be committed at a location: its segment is open, and its file
     * still has its name.
     */
    public static boolean isOpen(OpenStoreFiles files, long location) throws IOException {
        int number = EntryLocation.segment(location);
        try {
            if (files.segments().get(number).phase() != SegmentFile.Phase.OPEN) {
                return false;
            }
        } catch (NoSuchFileException e) {
            return false;
        }
        if (StoreLayout.exists(files.layout().segment(number))) {
            return true;
        }
        // removed under the mapping: no other process would see later writes
        files.segments().forget(number);
        return false;
    }

    /** Returns the index with room for one more entry. */
    private EntryIndex indexWithRoom(OpenStoreFiles files, long nowMicros) throws IOException {
        EntryIndex index = files.index();
        StatePage state = files.state();
        if (!index.isFull(state.get(StatePage.OCCUPIED_SLOTS))
                || (!index.canGrow() && !index.isFull(state.get(StatePage.LIVE_ENTRIES)))) {
            return index;
        }
        index.writeUses(nowMicros);
        return StoreRecovery.replaceIndex(
                files,
                index,
                index.generation() + 1,
                EntryIndex.slotsFor(index.countEntries() + 1),
                store.steps());
    }

    /** Returns every slot with the id's tag that has an entry of this id or no sound entry. */
    private List<Integer> slotsOf(OpenStoreFiles files, EntryIndex index, Id id)
            throws IOException {
        List<Integer> slots = new ArrayList<>(0);
        long tag = reader.tag(id);
        for (int probe = index.next(tag, 0); probe >= 0; probe = index.next(tag, probe + 1)) {
            int slot = index.slot(tag, probe);
            try (Arena memory = Arena.ofConfined()) {
                if (!reader.isOfAnotherId(files, index, slot, id, memory)) {
                    slots.add(slot);
                }
            } catch (IOException e) {
                slots.add(slot); // truncated under its mapping
            }
        }
        return slots;
    }
}
