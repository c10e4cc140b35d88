package dev.granary.s3.pack;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.register.Register;
import dev.granary.s3.store.ObjectStore;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * Reader of the packs of one bucket for lookups, target by target. Sends no request before the
 * first lookup. Thread-safe.
 */
public final class PackReader implements AutoCloseable {
    private static final int NAME_DIGITS = 16;

    private final ObjectStore store;
    private final Settings settings;
    private final RefreshSchedule schedule;
    private final Map<String, TargetPackReader> targets = new ConcurrentHashMap<>();
    private final ExecutorService refreshThread = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "granary-heads");
        thread.setDaemon(true);
        return thread;
    });
    private final Executor executor;

    /**
     * Settings shared by all readers and writers of packs in a bucket.
     *
     * @param layout the keys of the bucket
     * @param indexDirectory the local directory of heads, bases and indexes; if empty, they are not
     *     cached
     * @param random source of names, and of the spread of intervals
     * @param ticker the clock
     */
    public record Settings(
            BucketLayout layout,
            Optional<Path> indexDirectory,
            RandomGenerator random,
            Ticker ticker) {
        /** Returns the layout of the target of that namespace. */
        public TargetLayout keys(String namespace) {
            return layout.target(namespace);
        }

        /** Returns the register of the target of that namespace. */
        public Register register(ObjectStore store, String namespace) {
            return new Register(store, keys(namespace), random, ticker);
        }

        /** Returns the local index cache of the target of that namespace. */
        public PackIndexCache indexCache(String namespace) {
            return indexDirectory
                    .map(directory -> new PackIndexCache(directory.resolve(namespace), random))
                    .orElse(PackIndexCache.NONE);
        }
    }

    /**
     * Creates a reader that compares heads on a thread of its own.
     *
     * @param interval the time between two comparisons of a head with the bucket's
     * @param timeout the longest time that a lookup waits for another one that reads a head or an
     *     index
     */
    public PackReader(ObjectStore store, Settings settings, Duration interval, Duration timeout) {
        this(
                store,
                settings,
                new RefreshSchedule(
                        interval,
                        timeout,
                        settings.ticker()::nanos,
                        System::currentTimeMillis,
                        settings.random()),
                null);
    }

    PackReader(
            ObjectStore store,
            Settings settings,
            RefreshSchedule schedule,
            @Nullable Executor executor) {
        this.store = store;
        this.settings = settings;
        this.schedule = schedule;
        this.executor = executor == null ? refreshThread : executor;
    }

    /**
     * Returns a reader of the same packs that knows nothing yet and caches nothing on the disk: it
     * sees what a machine with an empty directory sees. Closed with this one.
     */
    public PackReader uncached() {
        return new PackReader(
                store,
                new Settings(
                        settings.layout(), Optional.empty(), settings.random(), settings.ticker()),
                schedule,
                executor);
    }

    /**
     * Returns the directory below {@code localDirectory} for the indexes of a bucket.
     *
     * @param bucketName a name that is unique among all buckets of all servers
     */
    public static Path indexDirectory(Path localDirectory, String bucketName) {
        return localDirectory
                .resolve("packs")
                .resolve(Sha256.of(bucketName.getBytes(UTF_8)).hex().substring(0, NAME_DIGITS));
    }

    /**
     * Looks up the hash of an id in the packs of a target, then unpacked.
     *
     * @param decoder decodes and verifies an entry
     * @param lookupStore sends the requests of this call
     * @param unpacked reads the unpacked entry
     */
    public LoadResult load(
            String namespace,
            Sha256 id,
            Function<MemorySegment, LoadResult> decoder,
            ObjectStore lookupStore,
            Supplier<LoadResult> unpacked) {
        // the usual case, without the lock of computeIfAbsent
        TargetPackReader known = targets.get(namespace);
        TargetPackReader target =
                known != null ? known : targets.computeIfAbsent(namespace, this::open);
        return target.load(id, decoder, lookupStore, unpacked);
    }

    private TargetPackReader open(String namespace) {
        TargetLayout keys = settings.keys(namespace);
        return new TargetPackReader(
                keys, new TargetPacks(store, keys, settings, schedule, executor));
    }

    /** Stops the comparison of heads. */
    @Override
    public void close() {
        refreshThread.shutdownNow();
    }
}
