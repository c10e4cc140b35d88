package dev.granary.local;

import dev.granary.cache.Catalog;
import dev.granary.cache.Damage;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.PutId;
import dev.granary.local.LedgerState.Condition;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.InstantSource;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The tier on this machine's disk: one directory that any number of processes use at once, bounded in bytes, oldest use leaves first.
 *
 * <p>One file per entry, written aside and renamed into place. A look-up opens a file, reads and verifies it, and takes no lock. A store
 * locks the account of bytes for the moment of the rename, waits at most a quarter of a second for that lock and then goes on without it.
 * Removing, evicting and counting happen behind the callers; only a store that finds the directory a sixteenth above its capacity
 * evicts itself, in one walk over the directory. {@code docs/local-directory.md} has layout and guarantees.
 */
public final class LocalTier implements PersistentCache, Catalog {
    private static final int TOLERATED_FRACTION = 16;
    private static final long SWEEPER_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long SWEEPER_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int COMMIT_ATTEMPTS = 3;

    private final Path directory;
    private final Layout layout;
    private final Ledger ledger;
    private final Shelf shelf;
    private final TemporaryFiles temporary;
    private final Recency recency;
    private final Sweep sweep;
    private final Maintenance maintenance;
    private final Step.Listener steps;
    private final EvictionPolicy policy;
    private final InstantSource clock;
    private final Trouble trouble = new Trouble();
    private final LongAdder healed = new LongAdder();
    private final LongAdder refusedTooLarge = new LongAdder();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile long capacity;

    private LocalTier(LocalConfig config, Path real, Function<Id, Sha256> naming, Step.Listener steps) {
        this.directory = config.directory();
        this.policy = config.policy();
        this.clock = config.clock();
        this.capacity = config.capacityBytes();
        this.steps = steps;
        this.layout = new Layout(real, naming);
        this.ledger = Ledger.share(layout.ledger());
        this.temporary = new TemporaryFiles(layout.temporary(), config.clock(), new SplittableRandom(), steps);
        this.shelf = new Shelf(layout, ledger, temporary, trouble);
        this.recency = new Recency(config.clock(), Recency.delayed(config.background()), trouble);
        this.sweep = new Sweep(layout, ledger, temporary, recency, config.clock(), () -> capacity, trouble);
        this.maintenance = new Maintenance(sweep, config.background());
    }

    /**
     * Opens the tier; creates its directory, private to this user, where it is missing. Reads nothing of what the directory holds: a sweep,
     * where one is due, runs on the configuration's executor.
     *
     * @throws LocalDirectoryException if the directory cannot be used or would not be safe; nothing was written
     */
    public static LocalTier open(LocalConfig config) throws LocalDirectoryException {
        return open(config, Id::hash, Step.Listener.NONE);
    }

    static LocalTier open(LocalConfig config, Function<Id, Sha256> naming, Step.Listener steps) throws LocalDirectoryException {
        LocalTier tier = new LocalTier(config, DirectoryCheck.prepare(config.directory()), naming, steps);
        tier.maintenance.request();
        return tier;
    }

    @Override
    public LoadResult load(Id id) {
        requireOpen();
        Shelf.Place place = shelf.find(id);
        switch (place.found()) {
            case LoadResult.Hit _ -> used(place.file());
            case LoadResult.Damaged bad -> removeDamaged(place.file(), id, bad.damage());
            case LoadResult.Absent _, LoadResult.Unavailable _ -> {}
        }
        return place.found();
    }

    /**
     * Stores an entry. Where another content is there under its id, it is replaced as a whole.
     *
     * @return {@code Refused} where the entry is larger than the capacity or the directory is read-only, {@code Failed} where the disk is
     *     full or fails; never {@code Divergent} or {@code Unknown}
     */
    @Override
    public StoreResult store(Entry entry) {
        requireOpen();
        long limit = Math.min(capacity, EntryFormat.MAX_BYTES);
        if (entry.binaries().byteSize() + entry.id().length() > limit) {
            return refuseTooLarge(entry.binaries().byteSize() + entry.id().length(), limit);
        }
        Shelf.Place place = shelf.find(entry.id());
        if (place.found() instanceof LoadResult.Hit hit && hit.entry().contentHash().equals(entry.contentHash())) {
            used(place.file());
            return StoreResult.DUPLICATE;
        }
        return write(entry, place, limit);
    }

    @Override
    public void discard(Entry entry) {
        requireOpen();
        Path file = shelf.find(entry.id()).file();
        shelf.removeIf(file, entry.id(),
                found -> found instanceof LoadResult.Hit hit && hit.entry().contentHash().equals(entry.contentHash()));
    }

    @Override
    public void list(Consumer<Listed> visitor) throws IOException {
        requireOpen();
        recency.flush();
        layout.walk(found -> visitor.accept(found.listed()));
    }

    /** Reads a listed entry. Neither counts as a use nor takes a damaged entry away. */
    @Override
    public LoadResult read(Listed listed) {
        requireOpen();
        return shelf.read(listed);
    }

    /** Removes a listed entry if it is still the one that was listed; returns whether it was. What was used since is another one. */
    public boolean remove(Listed listed) {
        requireOpen();
        boolean[] removed = {false};
        for (int slot = 0; slot < Layout.SLOTS && !removed[0] && Layout.isNamespace(listed.namespace()); slot++) {
            Path file = layout.entry(listed.namespace(), listed.hash(), slot);
            try {
                ledger.change(() -> {
                    EntryFile.Identity now = EntryFile.Identity.of(file);
                    if (now.bytes() != listed.bytes() || now.stampMillis() != listed.lastUsedMillis()) {
                        return 0;
                    }
                    Files.delete(file);
                    removed[0] = true;
                    return -now.bytes();
                }, Step.Listener.NONE, trouble);
            } catch (IOException e) {
                if (!(e instanceof NoSuchFileException)) { // that one is gone already
                    trouble.record(Trouble.Kind.REMOVING, e);
                }
            }
        }
        return removed[0];
    }

    /**
     * What the directory holds, counted now, in a walk over all of it.
     *
     * @throws IOException if it cannot be walked
     */
    public Survey survey() throws IOException {
        requireOpen();
        return Survey.of(layout, clock.millis() - TemporaryFiles.STALE.toMillis());
    }

    /** Removes every entry, in one walk over the directory. */
    public void clear() {
        requireOpen();
        sweep.clear();
    }

    /** Bytes of all entries as the account has them, which all processes on the directory share; right after a sweep. */
    public long usedBytes() {
        requireOpen();
        return ledger.state(trouble).used();
    }

    /** How many bytes of entries this process lets lie in the directory. */
    public long capacityBytes() {
        return capacity;
    }

    /**
     * Changes the capacity, for this process. Where less is allowed than is there, the oldest entries leave before this returns; it waits
     * at most two seconds for another process that is evicting.
     *
     * @param bytes how many bytes of entries may lie in the directory; 0 keeps nothing
     * @throws IllegalArgumentException if the number is negative
     */
    public void setCapacity(long bytes) {
        requireOpen();
        capacity = LocalConfig.requireCapacity(bytes);
        long start = System.nanoTime();
        while (ledger.state(trouble).used() > bytes && !sweep.run() && System.nanoTime() - start < SWEEPER_PATIENCE_NANOS) {
            LockSupport.parkNanos(SWEEPER_PAUSE_NANOS);
        }
        maintenance.request();
    }

    /** The directory, absolute. */
    public Path directory() {
        return directory;
    }

    /** What this tier did in this process so far. */
    public LocalStatistics statistics() {
        return new LocalStatistics(sweep.evictions.sum(), sweep.bytesEvicted.sum(), healed.sum(), sweep.sweptTemporaryFiles.sum(),
                refusedTooLarge.sum(), trouble.count());
    }

    /** Writes what is behind: uses, and a sweep that is due. Waits for one walk over the directory at most. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            recency.flush();
            maintenance.finish();
            ledger.release(trouble);
        }
    }

    /** Sweeps now, due or not; false where another is sweeping. For tests. */
    boolean sweepNow() {
        return sweep.run();
    }

    private StoreResult write(Entry entry, Shelf.Place place, long limit) {
        byte[] bytes;
        try {
            bytes = EntryFormat.encode(entry, Compression.NONE, PutId.NONE);
        } catch (IllegalArgumentException e) {
            return refuseTooLarge(EntryFormat.MAX_BYTES + 1, limit);
        }
        if (bytes.length > limit) {
            return refuseTooLarge(bytes.length, limit);
        }
        try {
            Path written = temporary.write(bytes);
            try {
                ledger.change(() -> commit(written, place.file(), bytes.length), steps, trouble);
            } finally {
                TemporaryFiles.discard(written);
            }
        } catch (IOException e) {
            trouble.record(Trouble.Kind.WRITING, e);
            return isReadOnly(e) ? new StoreResult.Refused("the directory is read-only: " + e) : new StoreResult.Failed(e.toString());
        }
        steps.done(Step.ACCOUNTED);
        if (place.found() instanceof LoadResult.Damaged) {
            healed.increment();
        }
        keepCapacity();
        return new StoreResult.Stored(bytes.length);
    }

    private long commit(Path written, Path file, long bytes) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                long replaced = Files.exists(file, LinkOption.NOFOLLOW_LINKS) ? EntryFile.Identity.of(file).bytes() : 0;
                Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
                steps.done(Step.RENAMED);
                return bytes - replaced;
            } catch (NoSuchFileException e) {
                if (attempt == COMMIT_ATTEMPTS) {
                    throw e;
                }
                Path shard = Objects.requireNonNull(file.getParent());
                Files.createDirectories(shard, DirectoryCheck.privateDirectory(shard)); // the first of its shard, or it was removed
            }
        }
    }

    /** Another version's entry stays for that version; the next store of its id here replaces it. */
    private void removeDamaged(Path file, Id id, Damage damage) {
        if (damage != Damage.TOO_NEW && damage != Damage.TOO_OLD && shelf.removeIf(file, id, LoadResult.Damaged.class::isInstance)) {
            healed.increment();
        }
    }

    private void used(Path file) {
        switch (policy) {
            case LRU -> recency.touch(file);
            case FIFO -> {}
        }
    }

    private void keepCapacity() {
        LedgerState account = ledger.known();
        if (account.used() - capacity > capacity / TOLERATED_FRACTION) {
            sweep.runIfDue();
        } else if (account.used() > capacity || account.condition() != Condition.SOUND) {
            maintenance.request();
        }
    }

    private StoreResult refuseTooLarge(long bytes, long limit) {
        refusedTooLarge.increment();
        return new StoreResult.Refused("an entry of " + bytes + " bytes is larger than the " + limit + " bytes that may lie here");
    }

    private boolean isReadOnly(IOException cause) {
        try {
            return cause instanceof AccessDeniedException || Files.getFileStore(directory).isReadOnly();
        } catch (IOException e) {
            return false;
        }
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("The local tier on " + directory + " is closed");
        }
    }
}
