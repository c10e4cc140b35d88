package dev.granary.s3;

import dev.granary.cache.Backend;
import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.support.CheckResult;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.SharedStore;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.Connectivity;
import dev.granary.s3.config.CredentialSources;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.probe.BucketDiagnostics;
import dev.granary.s3.probe.CapabilityProbe;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.probe.ServerCapabilities;
import dev.granary.s3.publish.EntryPublisher;
import dev.granary.s3.resilience.ExpiringSet;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StopListingException;
import dev.granary.s3.store.TrafficCounter;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ObjLongConsumer;
import java.util.random.RandomGenerator;

/**
 * The bucket tier: entries in an S3 bucket that a fleet shares. Thread-safe.
 *
 * <p>Entries are stored in {@linkplain dev.granary.s3.pack packs} or unpacked. A hit takes exactly
 * one GET. A successful publication usually takes exactly one PUT ({@link EntryPublisher} has the
 * protocol). Packs need the verdict of {@link ServerCapabilities}; lookups and unpacked entries do
 * not. The first entry of an id stays; only a damaged one is replaced. Entries from the bucket are
 * fully verified, including the SHA-256 of the content. The absence of an id is cached for some
 * seconds; in that time another machine's entry is not seen.
 *
 * <p>{@link #load} ends within the configured load deadline. {@link #store} sends a bounded number
 * of requests, each with its own deadline, and is meant for background threads.
 *
 * <p>Memory: a lookup allocates nothing for an entry before it has a connection. It then takes at
 * most 2.5 times the stored length of the entry, which is at most {@link EntryFormat#MAX_BYTES}, in
 * a pack at most 32 MiB. Decompressed binaries take at most as much again, off the heap. The
 * configured number of connections limits concurrent lookups. The base of a target has at most 16
 * MiB, the indexes of its packs 56 bytes for each entry.
 */
public final class BucketTier implements PersistentCache, EntryCatalog, SharedStore {
    private static final Logger LOG = LoggerFactory.getLogger(BucketTier.class);
    private static final int ABSENT_CAPACITY = 100_000;

    private final S3Config config;
    private final BucketLayout layout;
    private final ResilientObjectStore store;
    private final ServerCapabilities capabilities;
    private final PackReader.Settings packSettings;
    private final Lazy<PackReader> packs;
    private final BucketEntryLoader loader;
    private final EntryPublisher publisher;
    private final ExpiringSet<Sha256> absent;
    private final List<BulkBucket> packed = new CopyOnWriteArrayList<>(); // for statistics
    private final AtomicBoolean closed = new AtomicBoolean();
    private final RandomGenerator random;

    /** Opens the tier; {@code transport} opens the transport that counts what it receives. */
    public BucketTier(
            S3Config config,
            Function<TrafficCounter, ObjectStore> transport,
            Ticker ticker,
            RandomGenerator random) {
        this.config = config;
        this.random = random;
        this.layout = new BucketLayout(config.location());
        this.store = new ResilientObjectStore(transport, config, ticker);
        this.capabilities = new ServerCapabilities(
                config,
                layout,
                store,
                () -> new CapabilityProbe(store.forProbe(), layout, ticker, random),
                ticker,
                random);
        this.packSettings =
                new PackReader.Settings(layout, config.packIndexCache(), random, ticker);
        this.packs = new Lazy<>(() -> new PackReader(
                store,
                packSettings,
                config.refreshInterval(),
                config.loadDeadline().minus(config.connection().requestTimeout())));
        this.loader = new BucketEntryLoader(
                layout, config.trust(), !config.refreshInterval().isZero(), packs);
        this.absent = new ExpiringSet<>(ABSENT_CAPACITY, config.absentMemory(), ticker);
        this.publisher = new EntryPublisher(store, config.trust(), ticker, random);
    }

    /** Opens the tier. Sends no request and loads no client library before the first use. */
    public static BucketTier open(S3Config config) {
        Lazy<SecureRandom> random = new Lazy<>(SecureRandom::new);
        return new BucketTier(
                config,
                traffic -> ObjectStoreFactory.open(config, traffic),
                Ticker.SYSTEM,
                () -> random.get().nextLong());
    }

    /**
     * Makes the tier ready for its first request, which would wait for it otherwise: tries a
     * connection to the endpoint or its proxy, searches for a source of credentials, and only then
     * loads the client library and obtains credentials. Sends no request. Takes some time, at most
     * that of a connection and the credentials.
     *
     * @return the reason why no request can be sent; empty if one can
     */
    public Optional<String> prepare() {
        requireOpen();
        return config.connection()
                .endpoint()
                .flatMap(endpoint ->
                        Connectivity.obstacle(endpoint, config.connection().connectTimeout()))
                .or(() -> CredentialSources.obstacle(config.connection()))
                .or(store::open);
    }

    @Override
    public LoadResult load(Id id) {
        return load(id, store.withinDeadline());
    }

    /** {@inheritDoc} A request may begin before the deadline, and ends by its own limits. */
    @Override
    public LoadResult load(Id id, Deadline deadline) {
        return load(id, store.within(deadline));
    }

    private LoadResult load(Id id, ObjectStore requests) {
        requireOpen();
        Sha256 hash = id.hash();
        if (absent.contains(hash)) {
            return LoadResult.ABSENT;
        }
        long mark = absent.mark();
        LoadResult result = loader.load(id, requests);
        if (result instanceof LoadResult.Absent) {
            absent.add(hash, mark);
        }
        return result;
    }

    @Override
    public StoreResult store(Entry entry) {
        requireOpen();
        if (config.access() == S3Access.READ) {
            return new StoreResult.Refused(
                    StoreResult.Scope.STORE, config.location() + " is configured as read-only");
        }
        StoreResult result = publisher.publish(entry, layout.entry(entry.id()));
        absent.remove(entry.id().hash());
        if (result instanceof StoreResult.Refused(StoreResult.Scope scope, String reason)
                && scope == StoreResult.Scope.STORE) {
            LOG.warn("{} refused a write, so uploads pause: {}", config.location(), reason);
        }
        return result;
    }

    /**
     * Returns a reader that finds what a machine with an empty directory finds, now: it knows
     * nothing of earlier reads. Closed with this tier.
     */
    public Function<Id, LoadResult> uncached() {
        requireOpen();
        boolean hasPacks = !config.refreshInterval().isZero();
        BucketEntryLoader uncached = new BucketEntryLoader(
                layout, config.trust(), hasPacks, new Lazy<>(() -> packs.get().uncached()));
        return id -> uncached.load(id, store.withinDeadline());
    }

    /**
     * Returns the reason why no packs may be written to this bucket now; empty if they may. Sends
     * requests the first time; for publishers of packs, and never for lookups or unpacked entries.
     */
    public Optional<String> packObstacle() {
        requireOpen();
        Optional<ConditionalWriteSupport> writes = capabilities.resolve();
        if (writes.isEmpty()) {
            return Optional.of("it is not known whether the server supports conditional writes,"
                    + " which packs need: " + capabilities.unknownBecause());
        }
        return writes.get() == ConditionalWriteSupport.FULL
                ? Optional.empty()
                : Optional.of("the server does not support conditional writes, which packs need;"
                        + " entries stay unpacked there");
    }

    /** Returns the refusal of an entry that readers with the policy of this tier would not use. */
    public Optional<StoreResult> refusal(Entry entry) {
        return config.trust().refusal(entry);
    }

    /**
     * Returns true if the server is known to honour the condition of a deletion. Sends nothing; for
     * callers of {@link #packObstacle}.
     */
    public boolean honoursConditionalDelete() {
        return capabilities.honoursConditionalDelete();
    }

    /**
     * Returns the claims. If the server is known not to support conditional writes, there is no
     * claim to have. On one that ignores conditions, and is not known to, each machine has its
     * claim, and compiles.
     */
    @Override
    public ClaimStore claims() {
        return new BucketClaims(layout, store, config.trust(), capabilities::peek);
    }

    @Override
    public SortedSet<String> targets(Backend backend, String start) {
        String root = layout.root() + backend.path() + "/";
        SortedSet<String> names = new TreeSet<>();
        int[] seen = {0};
        try {
            ListResult ignored = store.withinDeadline().list(root + start, object -> {
                names.add(object.key().substring(root.length()).split("/", 2)[0]);
                if (++seen[0] == MAX_LISTED) {
                    throw new StopListingException();
                }
            });
        } catch (StopListingException e) {
            return names; // those of a page
        }
        return names;
    }

    /**
     * Returns the notes of use. They are written whatever the access: a policy may allow them to a
     * machine that may only read. A write is tried once, and counts in no circuit breaker.
     */
    public UseNotes useNotes() {
        return new UseNotes(layout, store, store.forProbe());
    }

    /** Returns true if requests are not signed: a public bucket, which learns of no use. */
    public boolean isAnonymous() {
        return config.connection().isAnonymous();
    }

    /** Records that conditional writes are not exact, in spite of the verdict. */
    public void disprove(String evidence) {
        capabilities.disprove(evidence);
    }

    /**
     * Opens the same bucket for transfers of whole packs; the caller closes it. Sends nothing yet.
     */
    public BulkBucket packed() {
        BulkBucket opened = BulkBucket.open(config);
        packed.add(opened);
        return opened;
    }

    /**
     * Does nothing: an entry that one machine's driver rejects may serve all others, and one faulty
     * machine must not empty the bucket.
     */
    @Override
    public void discard(Entry entry) {
        requireOpen();
    }

    /**
     * Passes every entry to {@code visitor} once, page by page in the server's order. An exception
     * of {@code visitor} ends the listing and propagates.
     *
     * @throws IOException if the bucket cannot be listed or the listing exceeds its bounds, see
     *     {@code docs/operations.md}
     */
    @Override
    public void list(Consumer<Listed> visitor) throws IOException {
        list(visitor, (_, _) -> {});
    }

    /**
     * As {@link #list(Consumer)}; {@code compileNanos} receives the namespace and the compile time
     * of each entry in a pack. That of an unpacked entry is only in the entry itself.
     */
    public void list(Consumer<Listed> visitor, ObjLongConsumer<String> compileNanos)
            throws IOException {
        requireOpen();
        new BucketLister(config.location(), layout, store, packSettings)
                .list(visitor, compileNanos);
    }

    @Override
    public LoadResult read(Listed listed) {
        requireOpen();
        return loader.read(listed, store);
    }

    /** Returns the counter of bytes between this process and the bucket, for progress displays. */
    public TrafficCounter traffic() {
        return store.traffic();
    }

    /** Returns the counters and the state of this tier, with {@link #packed}. Sends nothing. */
    public BucketTierStatistics statistics() {
        return packed.stream()
                .map(BulkBucket::statistics)
                .reduce(store.statistics(), BucketTierStatistics::plus);
    }

    /**
     * Returns the time since this tier or {@link #packed} received anything; zero if no request is
     * in progress.
     */
    public Duration quiet() {
        return packed.stream()
                .map(bulk -> bulk.traffic().quiet())
                .reduce(store.traffic().quiet(), (a, b) -> a.compareTo(b) >= 0 ? a : b);
    }

    /**
     * Checks access to the bucket and the capabilities of the server with about 90 small requests.
     * Writes the capabilities to the marker. The other objects of these requests are deleted
     * afterwards, if deletion is allowed.
     *
     * @return the results in the order of the steps; a problem that makes further steps pointless
     *     ends them
     */
    public List<CheckResult> check() {
        requireOpen();
        return new BucketDiagnostics(config, store.forProbe(), layout, capabilities, random).run();
    }

    /**
     * Checks with one small read of an absent object that the bucket can be reached. Transient
     * failures are retried within the load deadline. Covers server, credentials and bucket, but not
     * the permission to write.
     *
     * @return the problem; empty if this request found none
     */
    public Optional<CheckResult.Problem> reach() {
        requireOpen();
        return new BucketDiagnostics(config, store.withinDeadline(), layout, capabilities, random)
                .reach();
    }

    /** Returns the settings. */
    public S3Config config() {
        return config;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            PackReader reader = packs.peek();
            if (reader != null) {
                reader.close();
            }
            store.close();
        }
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("The bucket tier " + config.location() + " is closed");
        }
    }
}
