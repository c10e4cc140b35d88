package dev.granary.s3.probe;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectMarks;
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

/**
 * Capabilities from the marker in the bucket, else from a {@link CapabilityProbe}, whose result is
 * written to the marker.
 *
 * <p>The first caller sends the requests, and concurrent callers wait for it: both are short,
 * publication is write-behind, and a guess would need to be revised. Results are kept until the
 * process ends. If there is none, {@link ConditionalWriteSupport#FULL} is assumed: most servers
 * support it, and it is harmless with the others. If the server did not respond, the next attempt
 * follows 5 minutes later.
 */
public final class CachedCapabilities implements Capabilities {
    private static final Logger LOG = LoggerFactory.getLogger(CachedCapabilities.class);
    private static final Duration RETRY_INTERVAL = Duration.ofMinutes(5);

    private final S3Config config;
    private final BucketLayout layout;
    private final ObjectStore store;
    private final Supplier<CapabilityProbe> probes;
    private final Ticker ticker;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable ConditionalWriteSupport known;
    private boolean isProbed;
    private @Nullable Long silentSince;

    public CachedCapabilities(
            S3Config config,
            BucketLayout layout,
            ObjectStore store,
            Supplier<CapabilityProbe> probes,
            Ticker ticker) {
        this.config = config;
        this.layout = layout;
        this.store = store;
        this.probes = probes;
        this.ticker = ticker;
    }

    /** Returns the known capabilities; sends nothing. */
    public Optional<ConditionalWriteSupport> peek() {
        return Optional.ofNullable(known);
    }

    @Override
    public ConditionalWriteSupport conditionalWrites() {
        ConditionalWriteSupport current = known;
        return current != null ? current : withLock(this::resolve);
    }

    @Override
    public ConditionalWriteSupport conditionalWritesRefused() {
        return withLock(() -> {
            if (!isProbed && !isSilent()) {
                probe(readMarker());
            }
            return knownOrFull();
        });
    }

    /** Probes the server unconditionally, and writes the result to the marker. */
    ProbeResult probeNow() {
        return withLock(() -> probe(readMarker()));
    }

    private <R> R withLock(Supplier<R> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            lock.unlock();
        }
    }

    private ConditionalWriteSupport resolve() {
        if (known != null || isSilent()) {
            return knownOrFull();
        }
        MarkerState found = readMarker();
        switch (found) {
            case MarkerState.Fresh fresh -> known = fresh.marker().writes();
            case MarkerState.None _, MarkerState.Stale _, MarkerState.Newer _ -> probe(found);
            case MarkerState.Unknown unknown -> recordFailure(unknown.failure());
        }
        return knownOrFull();
    }

    private boolean isSilent() {
        return silentSince != null && ticker.nanos() - silentSince < RETRY_INTERVAL.toNanos();
    }

    private ConditionalWriteSupport knownOrFull() {
        ConditionalWriteSupport current = known;
        return current == null ? ConditionalWriteSupport.FULL : current;
    }

    /** State of the marker object. */
    private sealed interface MarkerState {
        /** A valid marker that has not expired. */
        record Fresh(CapabilityMarker marker, String etag) implements MarkerState {}

        /** Expired, or not a valid marker. */
        record Stale(String etag) implements MarkerState {}

        /** A marker of a newer version of Granary, which is not overwritten. */
        record Newer() implements MarkerState {}

        /** There is no marker. */
        record None() implements MarkerState {}

        /** The marker could not be read. */
        record Unknown(StoreFailure failure) implements MarkerState {}
    }

    private MarkerState readMarker() {
        return switch (store.get(layout.marker(), CapabilityMarker.MAX_BYTES)) {
            case GetResult.Found found ->
                switch (CapabilityMarker.parse(found.bytes().toArray(ValueLayout.JAVA_BYTE))) {
                    case CapabilityMarker.Parsed.Known _
                    when found.dates()
                            .age()
                            .filter(CachedCapabilities::isExpired)
                            .isPresent() -> new MarkerState.Stale(found.etag());
                    case CapabilityMarker.Parsed.Known sound ->
                        new MarkerState.Fresh(sound.marker(), found.etag());
                    case CapabilityMarker.Parsed.Newer _ -> new MarkerState.Newer();
                    case CapabilityMarker.Parsed.Malformed _ -> new MarkerState.Stale(found.etag());
                };
            case GetResult.TooLarge _ -> new MarkerState.Stale("");
            case GetResult.Absent _ -> new MarkerState.None();
            case GetResult.Unavailable lost -> new MarkerState.Unknown(lost.failure());
        };
    }

    private static boolean isExpired(Duration age) {
        return age.compareTo(CapabilityMarker.TIME_TO_LIVE) >= 0;
    }

    private ProbeResult probe(MarkerState found) {
        isProbed = true;
        ProbeResult result = probes.get().run();
        switch (result) {
            case ProbeResult.Probed probed -> {
                known = probed.writes();
                writeMarker(
                        new CapabilityMarker(
                                probed.writes(),
                                probed.deletion(),
                                probed.serverMillis(),
                                config.producer()),
                        found);
                LOG.atLevel(known == ConditionalWriteSupport.FULL ? Level.DEBUG : Level.INFO)
                        .log("probed {}: conditional writes are {}", config.location(), known);
            }
            case ProbeResult.NotAllowed refused -> recordFailure(refused.failure());
            case ProbeResult.Unavailable lost -> recordFailure(lost.failure());
        }
        return result;
    }

    private void recordFailure(StoreFailure failure) {
        LOG.debug("the capabilities of {} are unknown: {}", config.location(), failure);
        if (Thread.currentThread().isInterrupted()) {
            // the failure is of this thread, not of the server: the next caller probes again
            isProbed = false;
        } else if (failure.isTransient() || failure.isUnsent()) {
            isProbed = false;
            silentSince = ticker.nanos();
        } else if (known == null) {
            known = ConditionalWriteSupport.FULL;
        }
    }

    /**
     * Writes the marker with the strongest condition that the server supports. A concurrent writer
     * has written the same; after a failure the next process probes.
     */
    private void writeMarker(CapabilityMarker marker, MarkerState found) {
        byte[] body = marker.json();
        WriteResult result =
                switch (found) {
                    case MarkerState.Newer _ -> WriteResult.PRECONDITION_FAILED;
                    case MarkerState.None _, MarkerState.Unknown _
                    when marker.writes() != ConditionalWriteSupport.NONE ->
                        store.putIfAbsent(layout.marker(), body, ObjectMarks.NONE);
                    case MarkerState.Stale stale
                    when marker.writes() == ConditionalWriteSupport.FULL
                            && !stale.etag().isEmpty() ->
                        store.replaceIfMatch(layout.marker(), stale.etag(), body, ObjectMarks.NONE);
                    case MarkerState.Fresh fresh
                    when marker.writes() == ConditionalWriteSupport.FULL ->
                        store.replaceIfMatch(layout.marker(), fresh.etag(), body, ObjectMarks.NONE);
                    case MarkerState.None _,
                            MarkerState.Stale _,
                            MarkerState.Fresh _,
                            MarkerState.Unknown _ ->
                        store.put(layout.marker(), body, ObjectMarks.NONE);
                };
        if (!(result instanceof WriteResult.Done)) {
            LOG.debug("the store marker of {} was not written: {}", config.location(), result);
        }
    }
}
