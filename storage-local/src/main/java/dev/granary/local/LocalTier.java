package dev.granary.local;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EvictionListener;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.directory.DirectoryValidator;
import dev.granary.local.eviction.CapacityEnforcer;
import dev.granary.local.eviction.Evictor;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.MappingFault;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.EntryRemover;
import dev.granary.local.store.IoFailureLog;
import dev.granary.local.store.LastUseRecorder;
import dev.granary.local.store.SegmentStore;
import dev.granary.local.store.StoreCaretaker;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Local tier: one directory that any number of processes use at once, bounded in bytes, from which
 * the least recently used entries are evicted first.
 *
 * <p>Entries are stored one after the other in segments; a mapped index contains their locations. A
 * lookup copies an entry out, verifies the copy, and takes no lock. A store appends the entry
 * without a lock and then commits it to the index under one, for which it waits at most
 * {@link LocalTierConfig#storeTimeout()}. Evicting and reclaiming run in the background. Only a
 * store that finds usage 1/16 above the capacity does them itself. {@code docs/local-directory.md}
 * has layout and guarantees.
 */
public final class LocalTier implements PersistentCache, EntryCatalog {
    private final Path directory;
    private final SegmentStore store;
    private final EntryReader reader;
    private final EntryRemover remover;
    private final LastUseRecorder lastUses;
    private final Evictor evictor;
    private final CapacityEnforcer enforcer;
    private final StoreCaretaker caretaker;
    private final EntryWriter writer;
    private final IoFailureLog failures = new IoFailureLog();
    private final AtomicBoolean closed = new AtomicBoolean();

    private LocalTier(
            LocalTierConfig config,
            Path real,
            long boot,
            Function<Id, Sha256> hashing,
            StoreStep.Listener steps) {
        this.directory = config.directory();
        this.store = SegmentStore.share(real, boot, steps, config.storeTimeout());
        this.reader = new EntryReader(hashing);
        this.remover = new EntryRemover(store);
        this.lastUses = new LastUseRecorder(store, config.clock(), config.background(), failures);
        this.evictor = new Evictor(store, reader, lastUses, failures);
        this.enforcer = new CapacityEnforcer(
                store,
                evictor,
                config.policy(),
                config.capacityBytes(),
                config.storeTimeout(),
                config.background());
        this.caretaker = new StoreCaretaker(store, remover, lastUses, config.policy(), failures);
        this.writer = new EntryWriter(store, reader, enforcer, lastUses, caretaker, failures);
    }

    /**
     * Opens the tier and creates its directory, private to this user, if it is missing. Reads none
     * of the directory's content.
     *
     * @throws LocalDirectoryException if the directory cannot be used or would not be safe; nothing
     *     was written
     */
    public static LocalTier open(LocalTierConfig config) throws LocalDirectoryException {
        return open(config, BootId.mark(), Id::hash, StoreStep.Listener.NONE);
    }

    /**
     * Opens the tier as {@link #open(LocalTierConfig)} does, for tests.
     *
     * @param boot the mark of the current boot of the machine
     * @param hashing returns the digest of an id
     * @param steps is called after each step of a change
     * @throws LocalDirectoryException as {@link #open(LocalTierConfig)}
     */
    public static LocalTier open(
            LocalTierConfig config,
            long boot,
            Function<Id, Sha256> hashing,
            StoreStep.Listener steps)
            throws LocalDirectoryException {
        return new LocalTier(
                config,
                DirectoryValidator.prepare(config.directory(), config.networkFileSystems()),
                boot,
                hashing,
                steps);
    }

    @Override
    public LoadResult load(Id id) {
        return loadInto(id, null);
    }

    @Override
    public LoadResult load(Id id, Arena memory) {
        return loadInto(id, memory);
    }

    private LoadResult loadInto(Id id, @Nullable Arena memory) {
        requireOpen();
        return caretaker.load(files -> {
            EntryReader.LocatedEntry located = reader.find(files, id, memory);
            switch (located.result()) {
                case LoadResult.Hit _ -> caretaker.recordUse(located);
                case LoadResult.Damaged bad -> caretaker.removeDamaged(located, bad.damage());
                case LoadResult.Absent _, LoadResult.Unavailable _ -> {}
            }
            return located.result();
        });
    }

    /**
     * Stores an entry. An entry with the same id and other content is replaced as a whole.
     *
     * <p>Waits for other threads and processes take at most {@link LocalTierConfig#storeTimeout()}
     * in total. A store waits for space if usage is 1/4 above the capacity, for a new segment if
     * the last one is full, and for the index. The store's own work comes on top.
     *
     * @return {@code Refused} if the entry is larger than the capacity or the directory is
     *     read-only; {@code Failed} if the disk is full or fails, or after the timeout; never
     *     {@code Divergent} or {@code Unknown}
     */
    @Override
    public StoreResult store(Entry entry) {
        return storeAll(List.of(entry)).getFirst();
    }

    /**
     * Stores entries, each as {@link #store} does. Up to 64 of them are committed to the index with
     * one change and one wait. Of two entries with the same id in one list, the later one stays.
     */
    @Override
    public List<StoreResult> storeAll(List<Entry> entries) {
        requireOpen();
        return writer.store(entries);
    }

    @Override
    public void discard(Entry entry) {
        requireOpen();
        caretaker.remove(() -> {
            OpenStoreFiles files = store.files();
            try (Arena memory = Arena.ofConfined()) {
                EntryReader.LocatedEntry located = files == null
                        ? EntryReader.LocatedEntry.NONE
                        : StoreCaretaker.retryAfterTruncation(
                                store, () -> reader.find(files, entry.id(), memory));
                return located.result() instanceof LoadResult.Hit hit
                        && hit.entry().contentHash().equals(entry.contentHash())
                        && remover.remove(located);
            }
        });
    }

    @Override
    public void list(Consumer<Listed> visitor) throws IOException {
        requireOpen();
        LocalTier _ = caretaker.read(() -> {
            OpenStoreFiles files = store.files();
            if (files != null) {
                files.writeUses(lastUses.nowMicros());
                reader.list(files, visitor);
            }
            return this;
        });
    }

    /** Reads a listed entry. The read does not count as a use, and removes no damaged entry. */
    @Override
    public LoadResult read(Listed listed) {
        return readInto(listed, null);
    }

    @Override
    public LoadResult read(Listed listed, Arena memory) {
        return readInto(listed, memory);
    }

    private LoadResult readInto(Listed listed, @Nullable Arena memory) {
        requireOpen();
        return caretaker.load(files -> reader.find(files, listed, memory).result());
    }

    /**
     * Removes a listed entry unless it was replaced or used since; returns whether it was removed.
     * Its space is reclaimed by {@link #reclaim()}, or when a store needs it.
     */
    public boolean remove(Listed listed) {
        requireOpen();
        return caretaker.remove(() -> {
            OpenStoreFiles files = store.files();
            try (Arena memory = Arena.ofConfined()) {
                if (files == null) {
                    return false;
                }
                EntryReader.LocatedEntry located = StoreCaretaker.retryAfterTruncation(
                        store, () -> reader.find(files, listed, memory));
                return EntryReader.isUnchanged(files, located, listed) && remover.remove(located);
            }
        });
    }

    /**
     * Reclaims the space of removed entries, as far as whole blocks are free, and copies entries
     * together where that pays. Waits at most 2 s for another process that is reclaiming. Evictions
     * and {@link #clear()} reclaim on their own.
     */
    public void reclaim() {
        requireOpen();
        enforcer.reclaim();
    }

    /** Removes every entry. */
    public void clear() {
        requireOpen();
        caretaker.remove(remover::clear);
        enforcer.reclaim();
    }

    /** Returns the bytes of all entries, each rounded up to whole units. */
    public long usedBytes() {
        return amount(() -> {
            OpenStoreFiles files = store.countedFiles();
            return files == null
                    ? 0
                    : files.state().count(StatePage.LIVE_UNITS) * EntryLocation.UNIT;
        });
    }

    /**
     * Returns the bytes that the entries occupy on disk, including space that is not yet reclaimed.
     */
    public long diskBytes() {
        return amount(enforcer::diskBytes);
    }

    /** Returns the capacity in bytes that this process enforces. */
    public long capacityBytes() {
        return enforcer.capacity();
    }

    /**
     * Changes the capacity for this process. If usage is above the new capacity, the oldest entries
     * are evicted before this method returns. It waits at most 2 s for another process that is
     * evicting.
     *
     * @param bytes the capacity in bytes; 0 stores nothing
     * @throws IllegalArgumentException if {@code bytes} is negative
     */
    public void setCapacity(long bytes) {
        requireOpen();
        LocalTierConfig.requireCapacity(bytes);
        caretaker.remove(() -> {
            enforcer.setCapacity(bytes);
            return true;
        });
    }

    /**
     * Evicts the oldest entries if usage is above the capacity, instead of later in the background.
     * Waits at most 2 s for a sweep in progress.
     */
    public void enforceCapacity() {
        requireOpen();
        caretaker.remove(() -> {
            enforcer.enforce();
            return true;
        });
    }

    /** Returns the directory as an absolute path. */
    public Path directory() {
        return directory;
    }

    /**
     * Counts the contents of the directory.
     *
     * @throws IOException if the directory cannot be read
     */
    public DirectoryUsage usage() throws IOException {
        requireOpen();
        return caretaker.read(
                () -> StoreCaretaker.retryAfterTruncation(store, () -> DirectoryUsage.of(store)));
    }

    /** Sets the listener of evictions by this tier, instead of an earlier one. */
    public void setEvictionListener(EvictionListener listener) {
        evictor.setListener(listener);
    }

    /** Returns the statistics of this tier in this process. */
    public LocalTierStatistics statistics() {
        return new LocalTierStatistics(
                evictor.evictions(),
                evictor.bytesEvicted(),
                caretaker.healedCount(),
                writer.refusedTooLarge(),
                failures.count());
    }

    /** Writes recorded last uses, and runs a sweep that was requested. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            lastUses.close();
            enforcer.finish();
            store.release();
        }
    }

    /**
     * Sweeps now, due or not; returns false if another thread or process is sweeping. For tests.
     */
    public boolean sweepNow() {
        return enforcer.sweepNow();
    }

    /** A number of bytes that is read from the store. */
    private interface Amount {
        long bytes() throws IOException;
    }

    private long amount(Amount amount) {
        requireOpen();
        try {
            long bytes = amount.bytes();
            MappingFault.throwPending();
            return bytes;
        } catch (IOException | InternalError e) {
            failures.record(IoFailureLog.Kind.ACCOUNTING, e);
            return 0;
        }
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("The local tier on " + directory + " is closed");
        }
    }
}
