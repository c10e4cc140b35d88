package dev.granary.s3.probe;

import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.probe.CapabilityMarker.Verdict;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * Capabilities of the server of a bucket, from the marker in the bucket, else from a
 * {@link CapabilityProbe}. Thread-safe.
 *
 * <p>One process probes for all: it creates the marker as {@code probing} before, and replaces it
 * by the verdict afterwards. Meanwhile the verdict is unknown to the others. Unknown is not
 * {@link ConditionalWriteSupport#FULL}: without a verdict a process publishes unpacked entries
 * only, and deletes nothing.
 */
public final class ServerCapabilities {
    private static final Logger LOG = LoggerFactory.getLogger(ServerCapabilities.class);
    private static final Duration RETRY_INTERVAL = Duration.ofSeconds(10);

    /** Age at which the claim of a process that probes counts as abandoned. */
    private static final Duration PROBE_LIMIT = Duration.ofMinutes(2);

    private final S3Config config;
    private final String key;
    private final ObjectStore store;
    private final Supplier<CapabilityProbe> probes;
    private final Ticker ticker;
    private final Lazy<String> nonce;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable Known known;
    private volatile String unknownBecause = "nothing has asked for it yet";
    private @Nullable Long askedAt; // guarded by lock
    private boolean isDisproved; // guarded by lock

    public ServerCapabilities(
            S3Config config,
            BucketLayout layout,
            ObjectStore store,
            Supplier<CapabilityProbe> probes,
            Ticker ticker,
            RandomGenerator random) {
        this.config = config;
        this.key = layout.marker();
        this.store = store;
        this.probes = probes;
        this.ticker = ticker;
        this.nonce = new Lazy<>(() -> BucketLayout.randomName(random));
    }

    /** A verdict, which is valid for {@code life} from {@code since} by the ticker. */
    private record Known(Verdict verdict, long since, Duration life) {}

    /** The marker as it was read. */
    private sealed interface Marker {
        /** A marker with an ETag; that of an object beyond the limit is empty. */
        sealed interface Version extends Marker {
            String etag();
        }

        /** A verdict on this server and bucket, which is valid for {@code life}. */
        record Valid(String etag, Verdict verdict, Duration life) implements Version {}

        /** Another process probes; {@code who} is for people. */
        record Claimed(String etag, String who) implements Version {}

        /** This process probes. */
        record Own(String etag) implements Version {}

        /** Expired, abandoned, copied from another bucket, or malformed. */
        record Stale(String etag) implements Version {}

        /** A marker of a newer version of Granary, which is not overwritten. */
        record Newer() implements Marker {}

        /** There is no marker. */
        record None() implements Marker {}

        /** The marker could not be read. */
        record Unreadable(StoreFailure failure) implements Marker {}
    }

    /** Returns the known verdict; sends nothing. */
    public Optional<ConditionalWriteSupport> peek() {
        return verdict().map(Verdict::writes);
    }

    /**
     * Returns true only if the marker or a probe says that a conditional deletion is honoured;
     * sends nothing.
     */
    public boolean honoursConditionalDelete() {
        return verdict().filter(Verdict::honoursConditionalDelete).isPresent();
    }

    /**
     * Returns true if a version is replaced only if it is there, as documented or as the marker
     * says. Reads the marker, and neither probes nor writes.
     */
    boolean areReplacementsExact() {
        return CapabilityMarker.isAmazon(config)
                || (read() instanceof Marker.Valid valid
                        && valid.verdict().writes() == ConditionalWriteSupport.FULL);
    }

    private Optional<Verdict> verdict() {
        Known current = known;
        return current == null
                        || ticker.nanos() - current.since() >= current.life().toNanos()
                ? Optional.empty()
                : Optional.of(current.verdict());
    }

    /** Returns the reason why the last {@link #resolve} was empty, for people. */
    public String unknownBecause() {
        return unknownBecause;
    }

    /**
     * Returns the verdict from memory, else from the marker, else by a probe of some 90 requests.
     * For publishers of packs, compactors, claimers and diagnostics; never for a lookup or the
     * publication of an unpacked entry.
     *
     * @return empty while the verdict is unknown: the marker cannot be read, another process
     *     probes, or the server fails or refuses; the next request follows 10 seconds later
     */
    public Optional<ConditionalWriteSupport> resolve() {
        if (peek().isPresent()) {
            return peek();
        }
        return withLock(() -> {
            boolean isEarly =
                    askedAt != null && ticker.nanos() - askedAt < RETRY_INTERVAL.toNanos();
            if (peek().isEmpty() && !isEarly) {
                ask();
                // an interrupt is a failure of this thread, not of the server
                askedAt = Thread.currentThread().isInterrupted() ? null : (Long) ticker.nanos();
            }
            return peek();
        });
    }

    /**
     * Records that the server ignored a condition in spite of the verdict:
     * {@link ConditionalWriteSupport#NONE} from now on, in this process and in the marker.
     *
     * @param evidence the observation, for people
     */
    public void disprove(String evidence) {
        withLock(() -> {
            if (!isDisproved) {
                LOG.warn(
                        "{} does not honour conditional writes: {}; packs and claims are off",
                        config.location(),
                        evidence);
                adopt(
                        new Verdict(ConditionalWriteSupport.NONE, false),
                        Duration.ofNanos(Long.MAX_VALUE),
                        read(),
                        0);
                isDisproved = true;
            }
            return isDisproved;
        });
    }

    /**
     * Probes the server with all steps, and writes the verdict to the marker. Without the right to
     * delete, a valid {@code FULL} stays instead: each probe would leave objects.
     */
    ProbeResult probeNow() {
        return withLock(() -> {
            Marker found = read();
            CapabilityProbe probe = probes.get();
            if (found instanceof Marker.Claimed other) {
                probe.notice(
                        other.who(),
                        "until its verdict is there, others publish no packs; this check"
                                + " probes as well");
            }
            if (found instanceof Marker.Valid valid
                    && valid.verdict().writes() == ConditionalWriteSupport.FULL
                    && !probe.isDeletionAllowed()) {
                return probe.runAgain(valid.verdict());
            }
            return finish(probe.run(), found);
        });
    }

    private <R> R withLock(Supplier<R> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            lock.unlock();
        }
    }

    private void ask() {
        Marker found = read();
        switch (found) {
            case Marker.Valid valid -> remember(valid.verdict(), valid.life());
            case Marker.Claimed other -> unknown(other.who());
            case Marker.Unreadable(StoreFailure failure) -> unknown("the store marker: " + failure);
            case Marker.Newer _, Marker.Own _ -> probe(found);
            case Marker.None _, Marker.Stale _ -> claim(found);
        }
    }

    private Marker read() {
        return switch (store.get(key, CapabilityMarker.MAX_BYTES)) {
            case GetResult.Found found ->
                CapabilityMarker.parse(found.bytes().toArray(ValueLayout.JAVA_BYTE))
                        .map(marker ->
                                judge(marker, found.etag(), found.dates().age().orElse(null)))
                        .orElseGet(() -> new Marker.Stale(found.etag()));
            case GetResult.TooLarge _ -> new Marker.Stale("");
            case GetResult.Absent _ -> new Marker.None();
            case GetResult.Unavailable lost -> new Marker.Unreadable(lost.failure());
        };
    }

    /** Judges a marker by its place and age; without dates a verdict is new, a claim old. */
    private Marker judge(CapabilityMarker marker, String etag, @Nullable Duration age) {
        if (marker.isNewer()) {
            return new Marker.Newer();
        }
        if (!marker.isOf(config)) {
            return new Marker.Stale(etag);
        }
        if (marker.verdict().isPresent()) {
            Duration life = age == null
                    ? CapabilityMarker.TIME_TO_LIVE
                    : CapabilityMarker.TIME_TO_LIVE.minus(age);
            return life.isPositive()
                    ? new Marker.Valid(etag, marker.verdict().get(), life)
                    : new Marker.Stale(etag);
        }
        if (marker.nonce().equals(nonce.get())) {
            return new Marker.Own(etag);
        }
        return age == null || age.compareTo(PROBE_LIMIT) > 0 || marker.nonce().isEmpty()
                ? new Marker.Stale(etag)
                : new Marker.Claimed(
                        etag,
                        "another process began to probe the server " + age.toSeconds() + " s ago");
    }

    /** Makes this process the one that probes, and probes. */
    private void claim(Marker found) {
        byte[] body = CapabilityMarker.probing(config, nonce.get()).json();
        WriteResult result = write(found, body);
        Optional<StoreFailure> failure = WriteResult.failureOf(result);
        if (result instanceof WriteResult.Done(String etag)) {
            probe(new Marker.Own(etag));
        } else if (failure.isEmpty()) {
            unknown("another process has just begun to probe the server");
        } else if (failure.get().kind() == StoreFailure.Kind.NOT_SUPPORTED) {
            probe(new Marker.Stale(""));
        } else {
            // if it took effect after all, the next call finds the claim of this process
            unknown(failure.get().toString());
        }
    }

    private void probe(Marker found) {
        CapabilityProbe probe = probes.get();
        ProbeResult ignored = finish(
                CapabilityMarker.isAmazon(config) ? probe.runDocumented() : probe.run(), found);
    }

    private ProbeResult finish(ProbeResult result, Marker found) {
        switch (result) {
            case ProbeResult.Probed probed -> {
                ConditionalWriteSupport writes = probed.verdict().writes();
                adopt(
                        probed.verdict(),
                        CapabilityMarker.TIME_TO_LIVE,
                        found,
                        probed.serverMillis());
                LOG.atLevel(writes == ConditionalWriteSupport.FULL ? Level.DEBUG : Level.INFO)
                        .log("probed {}: conditional writes are {}", config.location(), writes);
            }
            case ProbeResult.Stopped stopped -> {
                unknown(stopped.failure().toString());
                if (found instanceof Marker.Own) { // others need not wait until it is abandoned
                    WriteResult ignored =
                            write(found, CapabilityMarker.probing(config, "").json());
                }
            }
        }
        return result;
    }

    /** Keeps a verdict, and writes it to the marker; a marker written meanwhile is as good. */
    private void adopt(Verdict verdict, Duration life, Marker found, long serverMillis) {
        if (isDisproved) {
            return;
        }
        remember(verdict, life);
        byte[] body = CapabilityMarker.known(config, verdict, serverMillis).json();
        boolean isExact = verdict.writes() == ConditionalWriteSupport.FULL;
        WriteResult result = isExact || found instanceof Marker.Newer
                ? write(found, body)
                : store.put(key, body);
        if (!(result instanceof WriteResult.Done)) {
            LOG.debug("the store marker of {} was not written: {}", config.location(), result);
        }
    }

    private void remember(Verdict verdict, Duration life) {
        known = new Known(verdict, ticker.nanos(), life);
    }

    private void unknown(String cause) {
        unknownBecause = cause;
        LOG.debug("the capabilities of {} are unknown: {}", config.location(), cause);
    }

    /** Writes the marker if it is still the one that was found. */
    private WriteResult write(Marker found, byte[] body) {
        return switch (found) {
            case Marker.Newer _ -> WriteResult.PRECONDITION_FAILED;
            case Marker.None _, Marker.Unreadable _ -> store.putIfAbsent(key, body);
            case Marker.Version version when version.etag().isEmpty() -> store.put(key, body);
            case Marker.Version version -> store.replaceIfMatch(key, version.etag(), body);
        };
    }
}
