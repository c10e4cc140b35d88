package dev.granary.s3.pack;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.ObjectStore;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
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
        Thread thread = new Thread(task, "granary-manifests");
        thread.setDaemon(true);
        return thread;
    });
    private final Executor executor;

    /**
     * Settings shared by all readers and writers of packs in a bucket.
     *
     * @param root the common prefix of all keys of the bucket; ends with a slash
     * @param indexDirectory the local directory of manifests and indexes; if empty, they are not
     *     cached
     * @param random source of names, and of the spread of intervals
     * @param pause waits for a duration
     */
    public record Settings(
            String root,
            Optional<Path> indexDirectory,
            RandomGenerator random,
            Consumer<Duration> pause) {
        /** Returns the layout of the target of that namespace. */
        public TargetLayout keys(String namespace) {
            return new TargetLayout(root, namespace);
        }

        /** Returns the manifests of the target of that namespace. */
        public PackManifestLog manifests(ObjectStore store, String namespace) {
            return new PackManifestLog(store, keys(namespace), random, pause);
        }

        /** Returns the local index cache of the target of that namespace. */
        public PackIndexCache indexCache(String namespace) {
            return indexDirectory
                    .map(directory -> new PackIndexCache(directory.resolve(namespace), random))
                    .orElse(PackIndexCache.NONE);
        }
    }

    /**
     * Creates a reader that compares manifests on a thread of its own.
     *
     * @param interval the time between two comparisons of a manifest with the bucket's
     * @param timeout the longest time that a lookup waits for another one that reads a manifest or
     *     an index
     * @param nanos the monotonic clock
     */
    public PackReader(
            ObjectStore store,
            Settings settings,
            Duration interval,
            Duration timeout,
            LongSupplier nanos) {
        this(
                store,
                settings,
                new RefreshSchedule(
                        interval, timeout, nanos, System::currentTimeMillis, settings.random()),
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
     * Returns the directory below {@code localDirectory} for the indexes of a bucket.
     *
     * @param bucketName a name that is unique among all buckets of all servers
     */
    public static Path indexDirectory(Path localDirectory, String bucketName) {
        return localDirectory
                .resolve("packs")
                .resolve(Sha256.of(bucketName.getBytes(UTF_8)).hex().substring(0, NAME_DIGITS));
    }

    /** Looks up an id in the packs; {@code lookupStore} sends the requests of this call. */
    public PackAnswer load(Id id, ObjectStore lookupStore) {
        return target(id.target().path()).load(id, lookupStore);
    }

    /** Looks up the hash of an id in the packs of a target. */
    public PackAnswer load(String namespace, Sha256 id, ObjectStore lookupStore) {
        return target(namespace).load(id, lookupStore);
    }

    /**
     * Returns true if an existing pack has an entry of that id; false also if the bucket does not
     * report it.
     */
    public boolean holds(Id id, ObjectStore lookupStore) {
        return target(id.target().path()).holds(id, lookupStore);
    }

    /** Returns a mark for {@link #confirm}: later reads of the target of that id are newer. */
    public long mark(Id id) {
        return target(id.target().path()).mark();
    }

    /**
     * Ensures that the known manifest of the target is one that a process with an empty directory
     * has read since the mark.
     *
     * @return false if the bucket does not report it
     */
    public boolean confirm(Id id, long mark, ObjectStore lookupStore) {
        return target(id.target().path()).confirm(mark, lookupStore);
    }

    /**
     * Makes lookups request unpacked entries, after one was stored.
     *
     * @return the result to return instead of success: the commit failed, or the bucket does not
     *     report whether one is necessary; empty if lookups request them
     */
    public Optional<StoreResult> unseal(Id id) {
        return switch (target(id.target().path()).unseal(store)) {
            case TargetUnsealer.Unsealed.Done _ -> Optional.empty();
            case TargetUnsealer.Unsealed.Failed failed ->
                Optional.of(new StoreResult.Failed(
                        "it is unpacked, but the manifest excludes unpacked entries, and that"
                                + " could not be changed: "
                                + failed.cause()));
            case TargetUnsealer.Unsealed.Unknown unknown ->
                Optional.of(new StoreResult.Unknown("it is unpacked; " + unknown.cause()));
        };
    }

    /** Returns true if the packs have an entry of that id, as far as is known without a request. */
    public boolean isKnown(Id id) {
        TargetPackReader known = targets.get(id.target().path());
        return known != null && known.isKnown(id);
    }

    /** Returns true if a lookup found a pack of that target missing since the manifest was read. */
    public boolean hasLostPack(Id id) {
        TargetPackReader known = targets.get(id.target().path());
        return known != null && known.hasLostPack();
    }

    private TargetPackReader target(String namespace) {
        // the usual case, without the lock of computeIfAbsent
        TargetPackReader known = targets.get(namespace);
        return known != null ? known : targets.computeIfAbsent(namespace, this::open);
    }

    private TargetPackReader open(String namespace) {
        return new TargetPackReader(
                store,
                settings.keys(namespace),
                settings.indexCache(namespace),
                schedule,
                requests -> settings.manifests(requests, namespace),
                executor);
    }

    /** Stops the comparison of manifests. */
    @Override
    public void close() {
        refreshThread.shutdownNow();
    }
}
