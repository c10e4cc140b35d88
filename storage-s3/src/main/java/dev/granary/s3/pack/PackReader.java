package dev.granary.s3.pack;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.ObjectStore;
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
import org.jspecify.annotations.Nullable;

/** The packs of one bucket, target by target. Sends nothing until it is asked. Thread-safe. */
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
     * What all that is done with the packs of a bucket has in common.
     *
     * @param root what all keys of the bucket begin with; ends with a slash
     * @param indexDirectory where manifests and indexes are kept on this machine's disk; empty: they are not
     * @param random makes names and spreads what is done at intervals
     * @param pause waits that long
     */
    public record Settings(String root, Optional<Path> indexDirectory, RandomGenerator random, Consumer<Duration> pause) {
        /** The keys of the target of that namespace. */
        public TargetLayout keys(String namespace) {
            return new TargetLayout(root, namespace);
        }

        /** The manifests of the target of that namespace. */
        public PackManifestLog manifests(ObjectStore store, String namespace) {
            return new PackManifestLog(store, keys(namespace), random, pause);
        }

        /** The indexes of the target of that namespace on this machine. */
        public PackIndexCache indexCache(String namespace) {
            return indexDirectory.map(directory -> new PackIndexCache(directory.resolve(namespace), random)).orElse(PackIndexCache.NONE);
        }
    }

    /**
     * The packs of a bucket for look-ups; a thread of their own compares manifests.
     *
     * @param interval how often a manifest is compared with the bucket's
     * @param timeout how long a look-up waits for another one that is reading a manifest or an index
     * @param nanos the monotonic clock
     */
    public PackReader(ObjectStore store, Settings settings, Duration interval, Duration timeout, LongSupplier nanos) {
        this(store, settings, new RefreshSchedule(interval, timeout, nanos, System::currentTimeMillis, settings.random()), null);
    }

    PackReader(ObjectStore store, Settings settings, RefreshSchedule schedule, @Nullable Executor executor) {
        this.store = store;
        this.settings = settings;
        this.schedule = schedule;
        this.executor = executor == null ? refreshThread : executor;
    }

    /** The directory below {@code localDirectory} for the indexes of a bucket, which is named among all buckets of all servers. */
    public static Path indexDirectory(Path localDirectory, String bucketName) {
        return localDirectory.resolve("packs").resolve(Sha256.of(bucketName.getBytes(UTF_8)).hex().substring(0, NAME_DIGITS));
    }

    /** What the packs say of an id; {@code lookupStore} sends what the caller waits for. */
    public PackAnswer load(Id id, ObjectStore lookupStore) {
        return target(id.target().path()).load(id, lookupStore);
    }

    /** What the packs of a target have under the hash of an id. */
    public PackAnswer load(String namespace, Sha256 id, ObjectStore lookupStore) {
        return target(namespace).load(id, lookupStore);
    }

    /** True where a pack that is there now has an entry of that id; false where nobody can say. */
    public boolean holds(Id id, ObjectStore lookupStore) {
        return target(id.target().path()).holds(id, lookupStore);
    }

    /** A mark for {@link #confirm}: what is read of the target of that id from now on is newer. */
    public long mark(Id id) {
        return target(id.target().path()).mark();
    }

    /**
     * Sees to it that what is known of the target's packs is what a process with an empty directory has come to know since the mark.
     *
     * @return false if the bucket does not say what that is
     */
    public boolean confirm(Id id, long mark, ObjectStore lookupStore) {
        return target(id.target().path()).confirm(mark, lookupStore);
    }

    /**
     * Has look-ups ask for entries outside of packs, after one was written there.
     *
     * @return what is to be told instead of success: that could not be committed, or the bucket does not say whether it is necessary; empty if look-ups ask
     */
    public Optional<StoreResult> unseal(Id id) {
        return switch (target(id.target().path()).unseal(store)) {
            case TargetPackReader.Unsealed.Done _ -> Optional.empty();
            case TargetPackReader.Unsealed.Failed failed -> Optional.of(new StoreResult.Failed(
                    "it lies where the manifest says that nothing does, and that could not be changed: " + failed.cause()));
            case TargetPackReader.Unsealed.Unknown unknown -> Optional.of(new StoreResult.Unknown("it lies outside of packs; " + unknown.cause()));
        };
    }

    /** True where the packs have an entry of that id, as far as is known without a request. */
    public boolean isKnown(Id id) {
        TargetPackReader known = targets.get(id.target().path());
        return known != null && known.isKnown(id);
    }

    /** True if a look-up met a pack of the target of that id that is not there, since the manifest was read. */
    public boolean hasLostPack(Id id) {
        TargetPackReader known = targets.get(id.target().path());
        return known != null && known.hasLostPack();
    }

    private TargetPackReader target(String namespace) {
        TargetPackReader known = targets.get(namespace); // the usual case, without the lock of computeIfAbsent
        return known != null ? known : targets.computeIfAbsent(namespace, this::open);
    }

    private TargetPackReader open(String namespace) {
        return new TargetPackReader(store, settings.keys(namespace), settings.indexCache(namespace), schedule,
                over -> settings.manifests(over, namespace), executor);
    }

    /** Ends what is under way. */
    @Override
    public void close() {
        refreshThread.shutdownNow();
    }
}
