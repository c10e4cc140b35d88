package dev.granary.local;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.memory.EvictionListener;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/**
 * Local tier: one directory that any number of processes use at once, bounded in bytes, from which
 * the least recently used entries are evicted first.
 *
 * <p>An entry is a file. A lookup reads and verifies it, and takes no lock; a store writes it
 * beside its place and renames it. The time of a file is its last use, and a background sweep
 * removes the oldest files. {@code docs/local-directory.md} has layout and guarantees.
 */
public final class LocalTier implements PersistentCache, EntryCatalog {
    // A use within this time of the last one is not recorded: it would double the cost of a hit.
    private static final Duration USE_RESOLUTION = Duration.ofMinutes(10);
    private static final String UNREADABLE = "An entry could not be read; it counts as a miss";
    private static final String NOT_STORED = "An entry could not be written; it is not stored";
    private static final String NOT_REMOVED = "An entry could not be removed";

    private final LocalTierConfig config;
    private final FailureCounter failures;
    private final EntryFiles files;
    private final CapacitySweeper sweeper;
    private final AtomicBoolean closed = new AtomicBoolean();

    private LocalTier(LocalTierConfig config, StoreStep.Listener steps, LongUnaryOperator random) {
        this.config = config;
        this.failures = new FailureCounter(config.directory());
        this.files = new EntryFiles(config.directory(), steps);
        this.sweeper = new CapacitySweeper(config, files, failures, steps, random);
    }

    /**
     * Opens the tier and creates its directory, private to this user, if it is missing. Reads none
     * of the directory's content.
     *
     * @throws LocalDirectoryException if the directory cannot be used or would not be safe; nothing
     *     was written
     */
    public static LocalTier open(LocalTierConfig config) throws LocalDirectoryException {
        return open(config, StoreStep.Listener.NONE, bound -> ThreadLocalRandom.current()
                .nextLong(bound));
    }

    /**
     * Opens the tier as {@link #open(LocalTierConfig)} does, for tests.
     *
     * @param steps is called after each step of a change
     * @param random returns a random number from 0 to below its argument
     */
    static LocalTier open(
            LocalTierConfig config, StoreStep.Listener steps, LongUnaryOperator random)
            throws LocalDirectoryException {
        DirectoryValidator.prepare(config.directory());
        return new LocalTier(config, steps, random);
    }

    /**
     * Validates a directory as {@link #open(LocalTierConfig)} does, and creates it if it is
     * missing.
     *
     * @throws LocalDirectoryException as {@link #open(LocalTierConfig)}
     */
    public static void prepareDirectory(Path directory) throws LocalDirectoryException {
        DirectoryValidator.prepare(directory);
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
        try {
            Path file = files.file(id);
            EntryFiles.Found found = files.read(file, memory, decoder(id));
            if (found.result() instanceof LoadResult.Hit) {
                recordUse(file, found.lastUse());
            } else if (EntryFiles.isRemovable(found.result())) {
                removeDamaged(file, id);
            }
            return found.result();
        } catch (IOException e) {
            failures.record(UNREADABLE, e);
            return new LoadResult.Unavailable(e.toString());
        }
    }

    private EntryFiles.Decoder decoder(Id id) {
        return stored ->
                config.trust().check(EntryFormat.decode(stored, id, VerificationLevel.CHECKSUMS));
    }

    private void removeDamaged(Path file, Id id) {
        try {
            files.removeDamaged(file, decoder(id));
        } catch (IOException e) {
            failures.record(NOT_REMOVED, e);
        }
    }

    private void recordUse(Path file, FileTime last) {
        if (config.policy() == EvictionPolicy.LRU) {
            EntryFiles.recordUse(file, last, config.clock().millis(), USE_RESOLUTION);
        }
    }

    /**
     * Stores an entry. An entry with the same id and other content is replaced as a whole. Waits
     * only if this process has stored 1/4 of the capacity since its last sweep: for that sweep, at
     * most 2 s.
     *
     * @return {@code Refused} if the entry is larger than the capacity or the directory is
     *     read-only; {@code Failed} if the disk is full or fails; never {@code Divergent} or
     *     {@code Unknown}
     */
    @Override
    public StoreResult store(Entry entry) {
        requireOpen();
        Optional<StoreResult> refusal = config.trust().refusal(entry);
        if (refusal.isPresent()) {
            return refusal.get();
        }
        long limit = Math.min(sweeper.capacity(), EntryFormat.MAX_BYTES);
        long least = entry.binaries().byteSize() + entry.id().length();
        if (least > limit) {
            return EntryFiles.tooLarge(least, limit);
        }
        Path file = files.file(entry.id());
        try {
            try (Arena memory = Arena.ofConfined()) {
                EntryFiles.Found present = present(file, memory, entry.id());
                if (EntryFiles.isInPlace(present, entry, config.trust())) {
                    recordUse(file, present.lastUse());
                    return StoreResult.DUPLICATE;
                }
            }
            List<MemorySegment> parts = EntryFiles.encode(entry);
            long bytes = EntryFiles.length(parts);
            if (CapacitySweeper.onDisk(bytes) > limit) {
                return EntryFiles.tooLarge(bytes, limit);
            }
            files.write(file, parts, config.clock());
            sweeper.stored(bytes);
            return new StoreResult.Stored(bytes);
        } catch (IllegalArgumentException e) {
            return EntryFiles.tooLarge(EntryFormat.MAX_BYTES + 1, limit);
        } catch (IOException e) {
            failures.record(NOT_STORED, e);
            return files.failure(file, e);
        }
    }

    /** Reads what an entry would replace; counts as absent if it cannot be read. */
    private EntryFiles.Found present(Path file, Arena memory, Id id) {
        try {
            return Files.notExists(file, LinkOption.NOFOLLOW_LINKS) // faster than an exception
                    ? EntryFiles.Found.ABSENT
                    : files.read(file, memory, decoder(id));
        } catch (IOException e) {
            failures.record(UNREADABLE, e);
            return EntryFiles.Found.ABSENT;
        }
    }

    @Override
    public void discard(Entry entry) {
        requireOpen();
        try {
            files.remove(entry, decoder(entry.id()));
        } catch (IOException e) {
            failures.record(NOT_REMOVED, e);
        }
    }

    @Override
    public void list(Consumer<Listed> visitor) throws IOException {
        requireOpen();
        files.list(visitor);
    }

    /** Reads a listed entry as {@link EntryFiles#read(Listed)} does; removes no damaged entry. */
    @Override
    public LoadResult read(Listed listed) {
        requireOpen();
        return config.trust().check(files.read(listed));
    }

    @Override
    public LoadResult read(Listed listed, Arena memory) {
        requireOpen();
        return config.trust().check(files.read(listed, memory));
    }

    /** Removes every entry, and every file that is being written. */
    public void clear() {
        requireOpen();
        sweeper.clear();
    }

    /** Returns the capacity in bytes that this process enforces. */
    public long capacityBytes() {
        return sweeper.capacity();
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
        sweeper.setCapacity(LocalTierConfig.requireCapacity(bytes));
    }

    /**
     * Evicts the oldest entries if usage is above the capacity, instead of later in the background.
     * Waits at most 2 s for a sweep of this process; returns false if it takes longer.
     */
    public boolean enforceCapacity() {
        requireOpen();
        return sweeper.enforce();
    }

    /** Returns the directory as an absolute path. */
    public Path directory() {
        return config.directory();
    }

    /**
     * Counts the contents of the directory, which takes some 4 µs an entry.
     *
     * @throws IOException if the directory cannot be read
     */
    public DirectoryUsage usage() throws IOException {
        requireOpen();
        return files.usage();
    }

    /** Sets the listener of evictions by this tier, instead of an earlier one. */
    public void setEvictionListener(EvictionListener listener) {
        sweeper.setListener(listener);
    }

    /** Returns the number of entries that this process evicted to stay below the capacity. */
    public long evictions() {
        return sweeper.evictions();
    }

    /** Returns the number of file-system operations of this process that failed. */
    public long inputOutputErrors() {
        return failures.count();
    }

    /** Closes the tier. A sweep that is due runs before, for at most 2 s. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            sweeper.finish();
        }
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("The local tier on " + directory() + " is closed");
        }
    }
}
