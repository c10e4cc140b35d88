package dev.granary.local;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.local.eviction.CapacityEnforcer;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.store.CommitLockQueue;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.IndexCommitter;
import dev.granary.local.store.IoFailureLog;
import dev.granary.local.store.LastUseRecorder;
import dev.granary.local.store.SegmentStore;
import dev.granary.local.store.StoreCaretaker;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/**
 * Writer of entries. Appends the entries that the store lacks, then commits them to the index in
 * batches, with one change per batch. Thread-safe.
 */
final class EntryWriter {
    /**
     * Maximum number of entries per change, so that the commit lock is held for a few milliseconds
     * at most.
     */
    static final int ENTRIES_AT_ONCE = 64;

    private static final long BYTES_AT_ONCE = 16 << 20;
    private static final int FRACTION_AT_ONCE = 16; // of the capacity: the excess that is tolerated without a sweep

    private final SegmentStore store;
    private final EntryReader shelf;
    private final IndexCommitter commit;
    private final CapacityEnforcer bound;
    private final LastUseRecorder uses;
    private final StoreCaretaker aftercare;
    private final IoFailureLog trouble;
    private final LongAdder refusedTooLarge = new LongAdder();

    EntryWriter(SegmentStore store, EntryReader shelf, IndexCommitter commit, CapacityEnforcer bound, LastUseRecorder uses, StoreCaretaker aftercare, IoFailureLog trouble) {
        this.store = store;
        this.shelf = shelf;
        this.commit = commit;
        this.bound = bound;
        this.uses = uses;
        this.aftercare = aftercare;
        this.trouble = trouble;
    }

    /** Stores each entry; returns the results in the same order. */
    List<StoreResult> store(List<Entry> entries) {
        List<StoreResult> results = new ArrayList<>(entries.size());
        while (results.size() < entries.size()) {
            List<Entry> rest = entries.subList(results.size(), entries.size());
            List<Entry> few = rest.subList(0, fewEnough(rest));
            results.addAll(store.withPatience(() -> storeAtOnce(few)));
        }
        return results;
    }

    /** Returns the number of entries that were refused because of their size. */
    long refusedTooLarge() {
        return refusedTooLarge.sum();
    }

    /** Returns the number of entries of the next batch, at least 1. */
    private int fewEnough(List<Entry> entries) {
        long limit = Math.min(BYTES_AT_ONCE, bound.capacity() / FRACTION_AT_ONCE);
        int count = 1;
        long bytes = entries.getFirst().binaries().byteSize();
        while (count < Math.min(entries.size(), ENTRIES_AT_ONCE)) {
            bytes += entries.get(count).binaries().byteSize();
            if (bytes > limit) {
                break;
            }
            count++;
        }
        return count;
    }

    private List<StoreResult> storeAtOnce(List<Entry> entries) {
        StoreResult[] results = new StoreResult[entries.size()];
        List<IndexCommitter.Fresh> fresh = new ArrayList<>(entries.size());
        for (int i = 0; i < results.length; i++) {
            try {
                results[i] = write(entries.get(i), fresh);
            } catch (IOException | InternalError e) {
                results[i] = failed(e);
            }
        }
        try {
            commit.enter(fresh, bound.capacity(), uses.nowMicros());
            if (!fresh.isEmpty()) {
                bound.keep();
            }
        } catch (IOException | InternalError e) {
            StoreResult failed = failed(e);
            Arrays.setAll(results, i -> results[i] instanceof StoreResult.Stored && !isEntered(fresh, entries.get(i)) ? failed : results[i]);
        }
        fresh.stream().filter(each -> each.heals() && each.isEntered()).forEach(_ -> aftercare.healed());
        return Arrays.asList(results);
    }

    private static boolean isEntered(List<IndexCommitter.Fresh> fresh, Entry entry) {
        return fresh.stream().anyMatch(each -> each.entry() == entry && each.isEntered());
    }

    /**
     * Writes an entry that the store lacks, and adds it to {@code pending}. A {@code Stored} result
     * holds once the pending entry is committed.
     */
    private StoreResult write(Entry entry, List<IndexCommitter.Fresh> fresh) throws IOException {
        long limit = Math.min(bound.capacity(), EntryFormat.MAX_BYTES);
        if (entry.binaries().byteSize() + entry.id().length() > limit) {
            return refuseTooLarge(entry.binaries().byteSize() + entry.id().length(), limit);
        }
        boolean heals;
        try (Arena memory = Arena.ofConfined()) {
            EntryReader.Place place = find(entry.id(), memory);
            if (place.result() instanceof LoadResult.Hit hit && hit.entry().contentHash().equals(entry.contentHash())) {
                aftercare.used(place);
                return StoreResult.DUPLICATE;
            }
            heals = place.result() instanceof LoadResult.Damaged bad && !aftercare.removeDamaged(place, bad.damage());
        }
        List<MemorySegment> parts;
        try {
            parts = EntryFormat.encodeParts(entry, Compression.NONE, WriteAttemptId.NONE);
        } catch (IllegalArgumentException e) {
            return refuseTooLarge(EntryFormat.MAX_BYTES + 1, limit);
        }
        IndexCommitter.Fresh written = new IndexCommitter.Fresh(entry, parts, heals);
        if (EntryLocation.units(written.length()) * EntryLocation.UNIT + EntryLocation.UNIT > limit) { // a segment of its own must fit
            return refuseTooLarge(written.length(), limit);
        }
        bound.makeRoom();
        commit.write(written, bound.capacity());
        fresh.add(written);
        return new StoreResult.Stored(written.length());
    }

    /** Looks an entry up. After a failure the store is repaired, and the entry counts as absent. */
    private EntryReader.Place find(Id id, Arena memory) {
        try {
            OpenStoreFiles files = store.files();
            return files == null ? EntryReader.Place.NONE : StoreCaretaker.twice(store, () -> shelf.find(files, id, memory));
        } catch (IOException | InternalError e) {
            trouble.record(IoFailureLog.Kind.READING, e);
            aftercare.repair();
            return EntryReader.Place.NONE;
        }
    }

    private StoreResult failed(Throwable cause) {
        trouble.record(IoFailureLog.Kind.WRITING, cause);
        if (cause instanceof CommitLockQueue.BusyException || cause instanceof CapacityEnforcer.FullException) {
            return new StoreResult.Failed(Objects.requireNonNull(cause.getMessage()));
        }
        if (cause instanceof InternalError) {
            aftercare.repair();
        }
        return cause instanceof IOException io && store.isReadOnly(io)
                ? new StoreResult.Refused("the directory is read-only: " + cause)
                : new StoreResult.Failed(cause.toString());
    }

    private StoreResult refuseTooLarge(long bytes, long limit) {
        refusedTooLarge.increment();
        return new StoreResult.Refused("an entry of " + bytes + " bytes exceeds the limit of " + limit + " bytes");
    }
}
