package dev.granary.s3;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackAnswer;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.probe.BucketDiagnostics;
import dev.granary.s3.probe.BucketFinding;
import dev.granary.s3.probe.CachedCapabilities;
import dev.granary.s3.probe.CapabilityProbe;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.publish.EntryPublisher;
import dev.granary.s3.resilience.ExpiringSet;
import dev.granary.s3.resilience.RequestCounters;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.resilience.WriteSuspension;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * The bucket tier: entries in a bucket that a fleet shares. Thread-safe.
 *
 * <p>Entries lie in {@linkplain dev.granary.s3.pack packs} or alone. A hit is exactly one GET, a publication in the good case exactly one PUT
 * ({@link EntryPublisher} has the protocol); before its first publication a process asks what the server can do ({@link CachedCapabilities}). The
 * first entry of an id stays; only one that is damaged is replaced. What comes from the bucket is verified in full, the SHA-256 of the content
 * included. That an id is absent is remembered for some seconds, within which another machine's entry is not seen.
 *
 * <p>{@link #load} ends within the load deadline of the configuration. {@link #store} ends after a bounded number of requests, each within
 * its deadline, and is meant for a thread that nobody waits for.
 *
 * <p>Memory: a look-up takes none for an entry before it has a connection, and then at most 2.5 times the entry's stored length, which is at most
 * {@link EntryFormat#MAX_BYTES}, and in a pack at most 32 MiB; with the binaries unpacked, at most as much again, outside of the heap. No more look-ups
 * than the configuration has connections read at once. The manifest of a target has at most 16 MiB, the indexes of its packs 56 bytes for each entry.
 */
public final class BucketTier implements PersistentCache, EntryCatalog {
    private static final int ABSENT_CAPACITY = 100_000;
    private static final int SUSPECT_CAPACITY = 10_000;
    private static final Duration SUSPECT_MEMORY = Duration.ofHours(1);

    private final S3Config config;
    private final BucketLayout layout;
    private final RequestCounters counters = new RequestCounters();
    private final ResilientObjectStore store;
    private final CachedCapabilities capabilities;
    private final EntryPublisher publisher;
    private final WriteSuspension writePause;
    private final PackReader.Settings packSettings;
    private final Lazy<PackReader> packs;
    private final ExpiringSet<Sha256> absent;
    private final ExpiringSet<Sha256> suspects;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final RandomGenerator random;
    private final TrafficCounter traffic;

    public BucketTier(S3Config config, Supplier<ObjectStore> transport, Ticker timing, RandomGenerator random) {
        this(config, transport, timing, random, new TrafficCounter());
    }

    private BucketTier(S3Config config, Supplier<ObjectStore> transport, Ticker timing, RandomGenerator random, TrafficCounter traffic) {
        this.config = config;
        this.traffic = traffic;
        this.random = random;
        this.layout = new BucketLayout(config.location());
        this.store = new ResilientObjectStore(transport, config, timing, counters, traffic);
        this.writePause = new WriteSuspension(config.location(), config.readOnlyPause(), timing);
        this.capabilities = new CachedCapabilities(config, layout, store,
                () -> new CapabilityProbe(store.forTrials(), layout, timing, random), timing);
        this.publisher = new EntryPublisher(store, capabilities, writePause, config.retention(), counters, timing, random);
        this.packSettings = new PackReader.Settings(layout.root(), config.shelves(), random, timing::pauseQuietly);
        this.packs = new Lazy<>(() -> new PackReader(store, packSettings, config.manifestInterval(),
                config.loadDeadline().minus(config.connection().requestTimeout()), timing::nanos));
        this.absent = new ExpiringSet<>(ABSENT_CAPACITY, config.absentMemory(), timing);
        this.suspects = new ExpiringSet<>(SUSPECT_CAPACITY, SUSPECT_MEMORY, timing);
    }

    /** Opens the tier, without a request and without loading a client library: that is left to the first use. */
    public static BucketTier open(S3Config config) {
        Lazy<SecureRandom> random = new Lazy<>(SecureRandom::new);
        TrafficCounter traffic = new TrafficCounter();
        return new BucketTier(config, () -> ObjectStoreFactory.open(config, traffic), Ticker.SYSTEM, () -> random.get().nextLong(), traffic);
    }

    @Override
    public LoadResult load(Id id) {
        requireOpen();
        Sha256 hash = id.hash();
        if (absent.contains(hash)) {
            return LoadResult.ABSENT;
        }
        long mark = absent.mark();
        ObjectStore withinDeadline = store.withinDeadline();
        LoadResult result = switch (inPacks(id, withinDeadline)) {
            case PackAnswer.Hit hit -> new LoadResult.Hit(hit.entry());
            case PackAnswer.NotPacked _ -> findLoose(id, withinDeadline);
            case PackAnswer.Unconfirmed(String cause) -> unlessAbsent(findLoose(id, withinDeadline), cause);
            case PackAnswer.Absent _ -> LoadResult.ABSENT;
            case PackAnswer.Damaged bad -> findLoose(id, withinDeadline) instanceof LoadResult.Hit hit
                    ? hit
                    : new LoadResult.Damaged(bad.damage(), bad.detail());
            case PackAnswer.Unavailable lost -> new LoadResult.Unavailable(lost.cause());
        };
        switch (result) {
            case LoadResult.Damaged _ -> suspects.add(hash, suspects.mark());
            case LoadResult.Absent _ -> absent.add(hash, mark);
            case LoadResult.Hit _, LoadResult.Unavailable _ -> {}
        }
        return result;
    }

    /** Where nobody can say what packs there are, an entry that does not lie alone may be in one. */
    private static LoadResult unlessAbsent(LoadResult alone, String cause) {
        return alone instanceof LoadResult.Absent ? new LoadResult.Unavailable(cause) : alone;
    }

    private PackAnswer inPacks(Id id, ObjectStore withinDeadline) {
        return config.manifestInterval().isZero() ? PackAnswer.NOT_PACKED : packs.get().load(id, withinDeadline);
    }

    private LoadResult findLoose(Id id, ObjectStore withinDeadline) {
        return switch (withinDeadline.get(layout.entry(id), EntryFormat.MAX_BYTES)) {
            case GetResult.Found found -> EntryFormat.decode(found.bytes(), id, VerificationLevel.CONTENT_HASH);
            case GetResult.Absent _ -> LoadResult.ABSENT;
            case GetResult.TooLarge large -> tooLarge(large);
            case GetResult.Unavailable lost -> new LoadResult.Unavailable(lost.failure().toString());
        };
    }

    @Override
    public StoreResult store(Entry entry) {
        requireOpen();
        if (config.access() == S3Access.READ) {
            return new StoreResult.Refused(config.location() + " is only read, as configured");
        }
        Optional<StoreFailure> refusal = writePause.reason();
        if (refusal.isPresent()) {
            return new StoreResult.Refused("only read for a while, since the bucket refused a write: " + refusal.get());
        }
        Sha256 hash = entry.id().hash();
        PackReader used = packs.peek();
        if (used != null && !suspects.contains(hash) && used.isKnown(entry.id())
                && used.confirm(entry.id(), used.mark(entry.id()), store.withinDeadline()) && used.holds(entry.id(), store)) {
            return StoreResult.DUPLICATE;
        }
        EntryPublisher.Existing existing = suspects.contains(hash) ? EntryPublisher.Existing.SUSPECT : EntryPublisher.Existing.TRUSTED;
        StoreResult result = publisher.publish(entry, layout.entry(entry.id()), existing);
        absent.remove(hash);
        if (result instanceof StoreResult.Stored || result instanceof StoreResult.Duplicate || result instanceof StoreResult.Divergent) {
            suspects.remove(hash);
            return madeVisible(entry.id(), result);
        }
        return result;
    }

    /** Look-ups ask for no entry that lies alone in a target of which the manifest says that nothing does: then the manifest is changed. */
    private StoreResult madeVisible(Id id, StoreResult result) {
        return config.manifestInterval().isZero() ? result : packs.get().unseal(id).orElse(result);
    }

    /** Finds out which entries the bucket has already, for one run of publications. */
    public DuplicateFinder duplicates() {
        requireOpen();
        return new DuplicateFinder(this);
    }

    /** A mark for {@link #isConfirmed} from which on what packs there are is asked anew. */
    public long markPacks(Id id) {
        return config.manifestInterval().isZero() ? 0 : packs.get().mark(id);
    }

    /** True if what is known of packs is what a process with an empty directory has come to know since the mark; asks the bucket where needed. */
    public boolean isConfirmed(Id id, long mark) {
        return config.manifestInterval().isZero() || packs.get().confirm(id, mark, store.withinDeadline());
    }

    /** True if a look-up met a named pack of the target of that id that the bucket does not have. Sends nothing. */
    public boolean hasLostPacks(Id id) {
        PackReader used = packs.peek();
        return used != null && used.hasLostPack(id);
    }

    /**
     * The entry of an id that every process finds, if the manifest is {@linkplain #isConfirmed confirmed}. A pack from which it comes is asked for: an index
     * that this machine has kept may be of one that is cut, and of use to nobody else. One that lies alone may be younger than the manifest: its publisher
     * sees to it that look-ups ask for it, and may not have come to that.
     */
    public Optional<Entry> findSurely(Id id) {
        boolean hasManifests = !config.manifestInterval().isZero();
        boolean isHeld = hasManifests && packs.get().holds(id, store.withinDeadline());
        if (!(load(id) instanceof LoadResult.Hit(Entry there))) {
            return Optional.empty();
        }
        boolean isSure = isHeld || !hasManifests || (!packs.get().isKnown(id) && packs.get().unseal(id).isEmpty());
        return isSure ? Optional.of(there) : Optional.empty();
    }

    /** Which conditions on writes the server keeps. The first question of a process sends requests; not for look-ups. */
    public ConditionalWriteSupport conditionalWrites() {
        requireOpen();
        return capabilities.conditionalWrites();
    }

    /** The same bucket for what moves whole packs; to be closed by the caller. Sends nothing yet. */
    public BulkBucket packed() {
        return BulkBucket.open(config);
    }

    /** Declines: what one machine's driver refuses may serve all others, and one broken machine must not empty the bucket. */
    @Override
    public void discard(Entry entry) {
        requireOpen();
    }

    /**
     * Hands every entry to {@code visitor} once, page by page as the server sends them. What {@code visitor} throws ends the listing and is passed on.
     *
     * @throws IOException if the bucket cannot be listed, or the listing does not end: {@code docs/operations.md} has its bounds
     */
    @Override
    public void list(Consumer<Listed> visitor) throws IOException {
        requireOpen();
        new BucketLister(config.location(), layout, store, packSettings).list(visitor);
    }

    @Override
    public LoadResult read(Listed listed) {
        requireOpen();
        return switch (packs.get().load(listed.namespace(), listed.hash(), store)) {
            case PackAnswer.Hit hit -> new LoadResult.Hit(hit.entry());
            case PackAnswer.Damaged bad -> readLoose(listed) instanceof LoadResult.Hit hit ? hit : new LoadResult.Damaged(bad.damage(), bad.detail());
            case PackAnswer.NotPacked _, PackAnswer.Absent _ -> readLoose(listed);
            case PackAnswer.Unconfirmed(String cause) -> unlessAbsent(readLoose(listed), cause);
            case PackAnswer.Unavailable lost -> new LoadResult.Unavailable(lost.cause());
        };
    }

    private LoadResult readLoose(Listed listed) {
        return switch (store.get(layout.entry(listed.namespace(), listed.hash()), EntryFormat.MAX_BYTES)) {
            case GetResult.Found found -> new TargetLayout(layout.root(), listed.namespace())
                    .checkId(EntryFormat.decode(found.bytes(), VerificationLevel.CONTENT_HASH), listed.hash());
            case GetResult.Absent _ -> LoadResult.ABSENT;
            case GetResult.TooLarge large -> tooLarge(large);
            case GetResult.Unavailable lost -> new LoadResult.Unavailable(lost.failure().toString());
        };
    }

    private static LoadResult tooLarge(GetResult.TooLarge large) {
        return new LoadResult.Damaged(DamageKind.TOO_LARGE, "more than " + large.limit() + " bytes");
    }

    /** The bytes that move between this process and the bucket, for tools that show progress. */
    public TrafficCounter traffic() {
        return traffic;
    }

    /** What this tier has done so far, and how it is. Sends nothing. */
    public BucketTierStatistics statistics() {
        return new BucketTierStatistics(counters.requests(), counters.retries.sum(), counters.unsent.sum(), store.breaker(),
                counters.refreshes(), capabilities.peek(), writePause.left());
    }

    /**
     * Tries the bucket out with some 90 small requests: may it be reached, read and written, and which promises does the server keep? Leaves
     * the answer to the latter in the store marker, and nothing else behind where deletion is allowed.
     *
     * @return what was found, in the order of the trials; a problem that makes further ones pointless ends them
     */
    public List<BucketFinding> check() {
        requireOpen();
        return new BucketDiagnostics(config, store.forTrials(), layout, capabilities, random).run();
    }

    /**
     * Asks the bucket for an object that is not there: one small request, repeated within the load deadline where its failure may pass. Needs server,
     * credentials and bucket, and tells nothing of the right to write.
     *
     * @return what is wrong; empty where the bucket can be used, as far as this request can tell
     */
    public Optional<BucketFinding.Problem> reach() {
        requireOpen();
        return new BucketDiagnostics(config, store.withinDeadline(), layout, capabilities, random).reach();
    }

    /** The settings. */
    public S3Config config() {
        return config;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            PackReader used = packs.peek();
            if (used != null) {
                used.close();
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
