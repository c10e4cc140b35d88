package dev.granary.local;

import dev.granary.cache.memory.EvictionListener;
import dev.granary.cache.support.Warnings;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongUnaryOperator;
import java.util.stream.Stream;

/**
 * Sweeper that evicts the oldest entries of a directory that exceeds its capacity. Thread-safe.
 *
 * <p>A sweep is due whenever this process has stored 1/16 of the capacity. The first one is due
 * after a random part of that, so a process that stores {@code b} bytes and ends sweeps with a
 * probability of {@code 16 b / capacity}. A sweep scans the directory, since no count of the bytes
 * is kept. It then visits the directory again and removes the entries that were not used since.
 *
 * <p>A file lock keeps other processes from the same work. Two sweeps at once are wasteful, not
 * wrong: where locks do not work, chance decides, and a suspended process stops no others.
 */
final class CapacitySweeper {
    static final int FRACTION = 16;
    private static final int MAX_PASSES = 4;
    private static final int MAX_BEHIND = 4; // sweeps that are due: a quarter of the capacity
    private static final long BLOCK = 4096;
    private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final Duration CLOCK_TOLERANCE = Duration.ofMinutes(1);
    private static final String FORMER_TREE = "v2";
    private static final String FORMER_FILE = "|state|index-[0-9a-f]+|segments(/[0-9a-f]+)?";
    private static final Duration FORMER_IDLE = Duration.ofDays(1);

    private final LocalTierConfig config;
    private final EntryFiles files;
    private final FailureCounter failures;
    private final StoreStep.Listener steps;
    private final LongUnaryOperator random;
    private final ReentrantLock sweeping = new ReentrantLock();
    private final AtomicInteger requests = new AtomicInteger();
    private final AtomicLong untilDue;
    private final LongAdder evictions = new LongAdder();
    private volatile EvictionListener listener = EvictionListener.NONE;
    private volatile long capacity;
    private volatile boolean isFinished;
    private int passes; // sweeps in a row that were left to another process; guarded by sweeping

    /**
     * Creates a sweeper.
     *
     * @param random returns a random number from 0 to below its argument
     */
    CapacitySweeper(
            LocalTierConfig config,
            EntryFiles files,
            FailureCounter failures,
            StoreStep.Listener steps,
            LongUnaryOperator random) {
        this.config = config;
        this.files = files;
        this.failures = failures;
        this.steps = steps;
        this.random = random;
        this.capacity = config.capacityBytes();
        this.untilDue = new AtomicLong(random.applyAsLong(share() + 1));
    }

    /** Last use and size of an entry. */
    private record Use(long millis, long bytes) {}

    /** Returns the bytes that a file of this size takes on the disk. */
    static long onDisk(long size) {
        return (size + BLOCK - 1) / BLOCK * BLOCK;
    }

    long capacity() {
        return capacity;
    }

    long evictions() {
        return evictions.sum();
    }

    void setListener(EvictionListener listener) {
        this.listener = listener;
    }

    /** Changes the capacity and evicts what exceeds it. */
    void setCapacity(long bytes) {
        capacity = bytes;
        untilDue.set(share());
        enforce();
    }

    private long share() {
        return capacity / FRACTION;
    }

    /**
     * Notes that an entry was stored, and requests a sweep in the background if one is due. If
     * stores are faster than the background, waits at most 2 s for its sweep, or sweeps here.
     */
    void stored(long size) {
        if (untilDue.addAndGet(-onDisk(size)) <= 0) {
            untilDue.set(share());
            if (requests.getAndIncrement() == 0) {
                try {
                    config.background().execute(this::runRequested);
                } catch (RuntimeException | OutOfMemoryError e) { // a later store or close runs it
                    failures.record("A sweep could not start; the capacity may be exceeded", e);
                }
            }
        }
        if (requests.get() >= MAX_BEHIND) {
            catchUp();
        }
    }

    private void catchUp() {
        try (InterruptGuard guard = new InterruptGuard()) {
            if (guard.tryLock(sweeping, WAIT_NANOS)) {
                try {
                    if (requests.get() >= MAX_BEHIND && sweep(0, Long.MAX_VALUE, false)) {
                        requests.set(0);
                    }
                } finally {
                    sweeping.unlock();
                }
            }
        }
    }

    private void runRequested() {
        int seen;
        do {
            if (isFinished) {
                return; // the directory may be removed by now
            }
            seen = requests.get();
            sweep(0, Long.MAX_VALUE, false);
        } while (!requests.compareAndSet(seen, 0));
    }

    /** Evicts now; waits at most 2 s for others. Returns false if a thread still sweeps then. */
    boolean enforce() {
        return sweep(WAIT_NANOS, Long.MAX_VALUE, true);
    }

    /** Runs a sweep that is due: waits at most 2 s for one of this process, and takes at most 2. */
    void finish() {
        isFinished = true;
        if (requests.get() > 0) {
            sweep(WAIT_NANOS, WAIT_NANOS, false);
        }
    }

    /**
     * Sweeps unless another thread or process does.
     *
     * @param wait maximum wait for another thread, and for another process if forced
     * @param limit maximum duration of the sweep, in nanoseconds
     * @param isForced whether the caller needs the sweep now
     */
    private boolean sweep(long wait, long limit, boolean isForced) {
        try (InterruptGuard guard = new InterruptGuard()) {
            if (!guard.tryLock(sweeping, wait)) {
                return false;
            }
            try (FileChannel channel = openLock()) { // closing it ends the lock
                long start = System.nanoTime();
                while (!takeTurn(channel, isForced)) {
                    if (isForced && System.nanoTime() - start < wait) {
                        guard.pause(PAUSE_NANOS);
                    } else if (isForced || ++passes == MAX_PASSES) {
                        break; // the other process may be suspended
                    } else {
                        return false;
                    }
                }
                passes = 0;
                long end = System.nanoTime() + limit;
                sweepAlone(() -> limit < Long.MAX_VALUE && System.nanoTime() - end >= 0);
            } catch (IOException | RuntimeException | OutOfMemoryError e) {
                if (Files.isWritable(config.directory())) { // otherwise nothing can be evicted
                    failures.record(
                            "Entries could not be evicted; the capacity may be exceeded", e);
                }
            } finally {
                sweeping.unlock();
            }
            return true;
        }
    }

    private FileChannel openLock() throws IOException {
        return DirectoryValidator.openLockFile(config.directory().resolve("sweep"));
    }

    /** Returns whether to sweep: no other process does or, where locks do not work, by chance. */
    private boolean takeTurn(FileChannel channel, boolean isForced) {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            return false; // another tier of this process
        } catch (IOException e) {
            Warnings.warn(
                    "locks " + config.directory(),
                    "File locks do not work in " + config.directory() + " (" + e
                            + "): processes sweep by chance, and compile the same kernel twice.");
            return isForced || random.applyAsLong(FRACTION) == 0;
        }
    }

    private void sweepAlone(BooleanSupplier isOver) throws IOException {
        removeFormer();
        List<Use> uses = new ArrayList<>();
        walk(isOver, (kind, file, attributes) -> {
            if (kind == EntryFiles.Kind.ENTRY) {
                uses.add(new Use(lastUse(attributes), onDisk(attributes.size())));
            } else if (kind == EntryFiles.Kind.UNFINISHED && isAbandoned(attributes)) {
                Files.deleteIfExists(file);
            }
        });
        steps.done(StoreStep.SCANNED);
        long used = uses.stream().mapToLong(Use::bytes).sum();
        if (used > capacity && !isOver.getAsBoolean()) {
            evict(uses, used - (capacity - share()), isOver);
        }
    }

    /** Evicts the oldest entries, of {@code excess} bytes together. */
    private void evict(List<Use> uses, long excess, BooleanSupplier isOver) throws IOException {
        uses.sort(Comparator.comparingLong(Use::millis));
        long newest = 0; // of the entries to evict
        long older = 0; // bytes of the entries older than that
        long sum = 0;
        for (Use use : uses) {
            if (sum >= excess) {
                break;
            }
            older = use.millis() == newest ? older : sum;
            newest = use.millis();
            sum += use.bytes();
        }
        Eviction eviction = new Eviction(newest, excess - older);
        try {
            walk(isOver, eviction);
        } finally {
            eviction.end();
        }
    }

    /** Eviction of entries up to a time, and of some that were last used at that time. */
    private final class Eviction implements EntryFiles.Visitor {
        private final EvictionListener.@Nullable Eviction event = begin();
        private final long newest;
        private long bytesOfNewest;
        private long count;
        private long bytes;

        Eviction(long newest, long bytesOfNewest) {
            this.newest = newest;
            this.bytesOfNewest = bytesOfNewest;
        }

        @Override
        public void visit(EntryFiles.Kind kind, Path file, BasicFileAttributes attributes)
                throws IOException {
            long lastUse = lastUse(attributes);
            if (kind != EntryFiles.Kind.ENTRY
                    || lastUse > newest
                    || (lastUse == newest && bytesOfNewest <= 0)) {
                return;
            }
            bytesOfNewest -= lastUse == newest ? onDisk(attributes.size()) : 0;
            if (Files.deleteIfExists(file)) {
                count++;
                bytes += attributes.size();
                steps.done(StoreStep.EVICTED);
            }
        }

        private EvictionListener.@Nullable Eviction begin() {
            try {
                return listener.begin();
            } catch (RuntimeException e) {
                failures.record("A listener of evictions failed", e);
                return null;
            }
        }

        void end() {
            evictions.add(count);
            if (event != null && count > 0) {
                try {
                    event.evicted(count, bytes);
                } catch (RuntimeException e) {
                    failures.record("A listener of evictions failed", e);
                }
            }
        }
    }

    /** Removes every entry, and every file that is being written. */
    void clear() {
        removeFormer();
        try {
            walk(() -> false, (kind, file, _) -> {
                if (kind != EntryFiles.Kind.FOREIGN) {
                    Files.deleteIfExists(file);
                    steps.done(StoreStep.CLEARED);
                }
            });
        } catch (IOException e) {
            failures.record("The directory could not be cleared", e);
        }
    }

    private void walk(BooleanSupplier isOver, EntryFiles.Visitor visitor) throws IOException {
        files.walk(new EntryFiles.Visitor() {
            @Override
            public void visit(EntryFiles.Kind kind, Path file, BasicFileAttributes attributes) {
                try {
                    visitor.visit(kind, file, attributes);
                } catch (IOException e) {
                    unreadable(e);
                }
            }

            @Override
            public void unreadable(IOException cause) {
                failures.record("A file could not be swept; the capacity may be exceeded", cause);
            }

            @Override
            public void left(Path directory) {
                EntryFiles.removeEmpty(directory);
            }

            @Override
            public boolean isDone() {
                return isOver.getAsBoolean();
            }
        });
    }

    /** A time in the future is that of a clock that was wrong: it counts as the oldest. */
    private long lastUse(BasicFileAttributes attributes) {
        long millis = attributes.lastModifiedTime().toMillis();
        return millis > config.clock().millis() + CLOCK_TOLERANCE.toMillis() ? 0 : millis;
    }

    private boolean isAbandoned(BasicFileAttributes attributes) {
        long age = config.clock().millis() - attributes.lastModifiedTime().toMillis();
        return Math.abs(age) > EntryFiles.ABANDONED.toMillis();
    }

    /**
     * Returns whether the directory has a tree of the layout before this one, with mapped segments.
     */
    static boolean hasFormerTree(Path directory) {
        Path former = directory.resolve(FORMER_TREE);
        return Files.isRegularFile(former.resolve("state"), LinkOption.NOFOLLOW_LINKS)
                && Files.isDirectory(former, LinkOption.NOFOLLOW_LINKS);
    }

    /** Removes the tree of the former layout, and nothing else, if it was idle for a day. */
    private void removeFormer() {
        if (!hasFormerTree(config.directory())) {
            return;
        }
        Path former = config.directory().resolve(FORMER_TREE);
        long idleSince = config.clock().millis() - FORMER_IDLE.toMillis();
        try (Stream<Path> all = Files.walk(former)) {
            List<Path> files = all.toList();
            for (Path file : files) {
                if (Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS).toMillis()
                        > idleSince) {
                    return;
                }
            }
            for (Path file : files.reversed()) {
                if (former.relativize(file).toString().matches(FORMER_FILE)) {
                    Files.delete(file);
                }
            }
        } catch (IOException | UncheckedIOException e) {
            failures.record("The tree of the former layout could not be removed", e);
        }
    }
}
