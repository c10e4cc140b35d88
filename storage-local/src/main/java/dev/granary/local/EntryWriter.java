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
import dev.granary.local.file.MappingFault;
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
    static final int BATCH_ENTRIES = 64;

    private static final long BATCH_BYTES = 16 << 20;
    // of the capacity: the excess that is tolerated without a sweep
    private static final int BATCH_FRACTION = 16;

    private final SegmentStore store;
    private final EntryReader reader;
    private final IndexCommitter committer;
    private final CapacityEnforcer enforcer;
    private final LastUseRecorder lastUses;
    private final StoreCaretaker caretaker;
    private final IoFailureLog failures;
    private final LongAdder refusedTooLarge = new LongAdder();

    EntryWriter(
            SegmentStore store,
            EntryReader reader,
            CapacityEnforcer enforcer,
            LastUseRecorder lastUses,
            StoreCaretaker caretaker,
            IoFailureLog failures) {
        this.store = store;
        this.reader = reader;
        this.committer = new IndexCommitter(store, reader);
        this.enforcer = enforcer;
        this.lastUses = lastUses;
        this.caretaker = caretaker;
        this.failures = failures;
    }

    /** Stores each entry; returns the results in the same order. */
    List<StoreResult> store(List<Entry> entries) {
        List<StoreResult> results = new ArrayList<>(entries.size());
        while (results.size() < entries.size()) {
            List<Entry> remaining = entries.subList(results.size(), entries.size());
            List<Entry> batch = remaining.subList(0, batchSize(remaining));
            results.addAll(store.withSharedTimeout(() -> storeBatch(batch)));
        }
        return results;
    }

    /** Returns the number of entries that were refused because of their size. */
    long refusedTooLarge() {
        return refusedTooLarge.sum();
    }

    /** Returns the number of entries of the next batch, at least 1. */
    private int batchSize(List<Entry> entries) {
        long limit = Math.min(BATCH_BYTES, enforcer.capacity() / BATCH_FRACTION);
        int count = 1;
        long bytes = entries.getFirst().binaries().byteSize();
        while (count < Math.min(entries.size(), BATCH_ENTRIES)) {
            bytes += entries.get(count).binaries().byteSize();
            if (bytes > limit) {
                break;
            }
            count++;
        }
        return count;
    }

    private List<StoreResult> storeBatch(List<Entry> entries) {
        StoreResult[] results = new StoreResult[entries.size()];
        List<IndexCommitter.PendingEntry> pending = new ArrayList<>(entries.size());
        for (int i = 0; i < results.length; i++) {
            try {
                results[i] = write(entries.get(i), pending);
            } catch (IOException | InternalError e) {
                results[i] = failed(e);
            }
        }
        try {
            committer.commit(pending, enforcer.capacity(), lastUses.nowMicros());
            if (!pending.isEmpty()) {
                enforcer.afterStore();
            }
            MappingFault.throwPending();
        } catch (IOException | InternalError e) {
            StoreResult failed = failed(e);
            Arrays.setAll(
                    results,
                    i -> results[i] instanceof StoreResult.Stored
                                    && !isCommitted(pending, entries.get(i))
                            ? failed
                            : results[i]);
        }
        pending.stream()
                .filter(each -> each.replacesDamaged() && each.isCommitted())
                .forEach(_ -> caretaker.countHealed());
        return Arrays.asList(results);
    }

    private static boolean isCommitted(List<IndexCommitter.PendingEntry> pending, Entry entry) {
        return pending.stream().anyMatch(each -> each.entry() == entry && each.isCommitted());
    }

    /**
     * Writes an entry that the store lacks, and adds it to {@code pending}. A {@code Stored} result
     * holds once the pending entry is committed.
     */
    private StoreResult write(Entry entry, List<IndexCommitter.PendingEntry> pending)
            throws IOException {
        long limit = Math.min(enforcer.capacity(), EntryFormat.MAX_BYTES);
        if (entry.binaries().byteSize() + entry.id().length() > limit) {
            return refuseTooLarge(entry.binaries().byteSize() + entry.id().length(), limit);
        }
        boolean replacesDamaged;
        try (Arena memory = Arena.ofConfined()) {
            EntryReader.LocatedEntry located = find(entry.id(), memory);
            if (located.result() instanceof LoadResult.Hit hit
                    && hit.entry().contentHash().equals(entry.contentHash())) {
                caretaker.recordUse(located);
                return StoreResult.DUPLICATE;
            }
            replacesDamaged = located.result() instanceof LoadResult.Damaged bad
                    && !caretaker.removeDamaged(located, bad.damage());
        }
        List<MemorySegment> parts;
        try {
            parts = EntryFormat.encodeParts(entry, Compression.NONE, WriteAttemptId.NONE);
        } catch (IllegalArgumentException e) {
            return refuseTooLarge(EntryFormat.MAX_BYTES + 1, limit);
        }
        IndexCommitter.PendingEntry written =
                new IndexCommitter.PendingEntry(entry, parts, replacesDamaged);
        // a segment of its own must fit
        if (EntryLocation.units(written.length()) * EntryLocation.UNIT + EntryLocation.UNIT
                > limit) {
            return refuseTooLarge(written.length(), limit);
        }
        enforcer.ensureCapacity();
        committer.write(written, enforcer.capacity());
        pending.add(written);
        return new StoreResult.Stored(written.length());
    }

    /** Looks an entry up. After a failure the store is repaired, and the entry counts as absent. */
    private EntryReader.LocatedEntry find(Id id, Arena memory) {
        try {
            OpenStoreFiles files = store.files();
            return files == null
                    ? EntryReader.LocatedEntry.NONE
                    : StoreCaretaker.retryAfterTruncation(
                            store, () -> reader.find(files, id, memory));
        } catch (IOException | InternalError e) {
            failures.record(IoFailureLog.Kind.READING, e);
            caretaker.repair();
            return EntryReader.LocatedEntry.NONE;
        }
    }

    private StoreResult failed(Throwable cause) {
        failures.record(IoFailureLog.Kind.WRITING, cause);
        if (cause instanceof CommitLockQueue.BusyException
                || cause instanceof CapacityEnforcer.FullException) {
            return new StoreResult.Failed(Objects.requireNonNull(cause.getMessage()));
        }
        if (cause instanceof InternalError) {
            caretaker.repair();
        }
        return cause instanceof IOException io && store.isReadOnly(io)
                ? new StoreResult.Refused("the directory is read-only: " + cause)
                : new StoreResult.Failed(cause.toString());
    }

    private StoreResult refuseTooLarge(long bytes, long limit) {
        refusedTooLarge.increment();
        return new StoreResult.Refused(
                "an entry of " + bytes + " bytes exceeds the limit of " + limit + " bytes");
    }
}
