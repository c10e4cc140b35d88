package dev.granary.local.store;

import dev.granary.local.directory.DirectoryValidator;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreStep;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.List;

/**
 * Appender of entries. Space is reserved by one atomic exchange and filled without a lock, so
 * writers wait neither for each other nor for one that died. The space of a dead writer has no
 * entry in the index, so a sweep reclaims it.
 */
public final class SegmentAppender {
    private static final long LONGEST_SEGMENT = 64 << 20;
    private static final long SHORTEST_SEGMENT = 1 << 20;
    private static final int SEGMENTS_IN_CAPACITY = 32;

    private final SegmentStore store;

    /**
     * Location of a written entry.
     *
     * @param files the files of the store, which may since have been replaced by another one
     * @param location the location, or 0 if the entry was not written
     */
    public record Written(OpenStoreFiles files, long location) {}

    public SegmentAppender(SegmentStore store) {
        this.store = store;
    }

    /**
     * Writes an entry, which stays invisible until it is committed to the index.
     *
     * @param parts the encoded entry
     * @param length its length in bytes
     * @param capacity the capacity of the store in bytes, which determines the length of a new
     *     segment
     * @return the location; 0 if its segment was removed during the write
     */
    public Written append(List<MemorySegment> parts, long length, long capacity)
            throws IOException {
        long units = EntryLocation.units(length);
        Written reserved = reserve(units, capacity);
        OpenStoreFiles files = reserved.files();
        long location = reserved.location();
        store.steps().done(StoreStep.RESERVED);
        boolean isSpaceUsed = false;
        try {
            write(
                    files.segments().get(EntryLocation.segment(location)),
                    EntryLocation.offset(location),
                    parts);
            isSpaceUsed = true;
            return reserved;
        } catch (NoSuchFileException e) {
            isSpaceUsed = true; // its segment was removed: nothing is to be released
            files.segments().forget(EntryLocation.segment(location));
            return new Written(files, 0);
        } finally {
            // a full disk: release the space, unless another writer has reserved the next
            if (!isSpaceUsed) {
                files.state()
                        .compareAndSet(
                                StatePage.APPEND_POSITION,
                                EntryLocation.withCheck(location + units),
                                EntryLocation.withCheck(location));
            }
        }
    }

    private void write(SegmentFile segment, long offset, List<MemorySegment> parts)
            throws IOException {
        long at = offset;
        for (MemorySegment part : parts) {
            segment.write(at, part);
            at += part.byteSize();
            store.steps().done(StoreStep.PART_WRITTEN);
        }
    }

    private Written reserve(long units, long capacity) throws IOException {
        if (!store.isRecovered(store.filesForWriting())) {
            store.change(_ -> true);
        }
        while (true) {
            OpenStoreFiles files = store.filesForWriting();
            StatePage state = files.state();
            long word = state.get(StatePage.APPEND_POSITION);
            long appendPosition = EntryLocation.withoutCheck(word);
            if (appendPosition != 0 && hasRoom(files, appendPosition, units)) {
                if (state.compareAndSet(
                        StatePage.APPEND_POSITION,
                        word,
                        EntryLocation.withCheck(appendPosition + units))) {
                    return new Written(files, appendPosition);
                }
            } else {
                store.change(locked -> beginSegment(
                        locked,
                        word,
                        Math.max(segmentLength(capacity), (units + 1) * EntryLocation.UNIT)));
            }
        }
    }

    private static boolean hasRoom(OpenStoreFiles files, long appendPosition, long units)
            throws IOException {
        try {
            SegmentFile segment = files.segments().get(EntryLocation.segment(appendPosition));
            return segment.phase() == SegmentFile.Phase.OPEN
                    && EntryLocation.offset(appendPosition) + units * EntryLocation.UNIT
                            <= segment.length();
        } catch (NoSuchFileException e) {
            return false; // removed by another process
        }
    }

    static long segmentLength(long capacity) {
        return Math.clamp(capacity / SEGMENTS_IN_CAPACITY, SHORTEST_SEGMENT, LONGEST_SEGMENT);
    }

    /**
     * Begins a new segment, unless the append position has changed from {@code expected}. Under the
     * commit lock.
     */
    private boolean beginSegment(OpenStoreFiles files, long expected, long length)
            throws IOException {
        if (files.state().get(StatePage.APPEND_POSITION) != expected) {
            return false;
        }
        SegmentFile created = create(files, length);
        store.steps().done(StoreStep.SEGMENT_CREATED);
        seal(files, EntryLocation.withCheck(EntryLocation.location(created.number(), 1)));
        return true;
    }

    /**
     * Seals the last segment, and sets the append position. Under the commit lock.
     *
     * @param next the new append position with its check value; 0 for none
     */
    public void seal(OpenStoreFiles files, long next) throws IOException {
        long end = sealUntruncated(files, next);
        if (end != 0) {
            try {
                FileDisposer.truncateLast(
                        files,
                        files.segments().get(EntryLocation.segment(end)),
                        EntryLocation.offset(end));
            } catch (NoSuchFileException e) {
                return; // removed by another process
            }
        }
    }

    /**
     * Seals the last segment without truncating it, for an append position that may be wrong.
     * Returns the old append position, or 0 if it was unknown.
     */
    long sealUntruncated(OpenStoreFiles files, long next) {
        StatePage state = files.state();
        long word = state.get(StatePage.APPEND_POSITION);
        // other writers reserve without the lock
        while (!state.compareAndSet(StatePage.APPEND_POSITION, word, next)) {
            word = state.get(StatePage.APPEND_POSITION);
        }
        store.steps().done(StoreStep.APPEND_POSITION_MOVED);
        long end = EntryLocation.withoutCheck(word);
        if (end != 0) {
            state.add(StatePage.SEALED_UNITS, EntryLocation.unit(end));
        }
        return end;
    }

    private static SegmentFile create(OpenStoreFiles files, long length) throws IOException {
        StatePage state = files.state();
        long number = Math.max(1, state.get(StatePage.NEXT_SEGMENT));
        // after the last number, or a damaged one, from 1 on: low numbers are free by then
        boolean wrapped = false;
        while (number <= EntryLocation.LAST_SEGMENT || !wrapped) {
            if (number > EntryLocation.LAST_SEGMENT) {
                number = 1;
                wrapped = true;
            }
            try {
                SegmentFile segment = files.segments().create((int) number, length);
                state.set(StatePage.NEXT_SEGMENT, number + 1);
                return segment;
            } catch (FileAlreadyExistsException e) {
                number++; // a power cut set the state page back
            } catch (NoSuchFileException e) {
                if (Files.exists(files.layout().segments())) {
                    throw e;
                }
                Files.createDirectories(
                        files.layout().segments(),
                        DirectoryValidator.privateDirectory(files.layout().root()));
            }
        }
        throw new IOException("the store has used all its segment numbers; clear it");
    }
}
