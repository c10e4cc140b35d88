package dev.granary.s3.probe;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

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
    private static final Duration NEXT_QUESTION = Duration.ofMinutes(5);

    private final S3Config config;
    private final BucketLayout layout;
    private final ObjectStore store;
    private final Supplier<CapabilityProbe> probes;
    private final Ticker timing;
    private final ReentrantLock learning = new ReentrantLock();
    private volatile @Nullable ConditionalWriteSupport known;
    private boolean isProbed;
    private @Nullable Long silentSince;

    public CachedCapabilities(S3Config config, BucketLayout layout, ObjectStore store, Supplier<CapabilityProbe> probes, Ticker timing) {
        this.config = config;
        this.layout = layout;
        this.store = store;
        this.probes = probes;
        this.timing = timing;
    }

    /** Returns the known capabilities; sends nothing. */
    public Optional<ConditionalWriteSupport> peek() {
        return Optional.ofNullable(known);
    }

    @Override
    public ConditionalWriteSupport conditionalWrites() {
        ConditionalWriteSupport learned = known;
        return learned != null ? learned : alone(this::learn);
    }

    @Override
    public ConditionalWriteSupport conditionalWritesRefused() {
        return alone(() -> {
            if (!isProbed && !isSilent()) {
                probe(find());
            }
            return orFull();
        });
    }

    /** Probes the server unconditionally, and writes the result to the marker. */
    ProbeResult probeNow() {
        return alone(() -> probe(find()));
    }

    private <R> R alone(Supplier<R> work) {
        learning.lock();
        try {
            return work.get();
        } finally {
            learning.unlock();
        }
    }

    private ConditionalWriteSupport learn() {
        if (known != null || isSilent()) {
            return orFull();
        }
        Found found = find();
        switch (found) {
            case Found.Fresh fresh -> known = fresh.marker().writes();
            case Found.None _, Found.Stale _, Found.Newer _ -> probe(found);
            case Found.Unknown unknown -> unlearned(unknown.failure());
        }
        return orFull();
    }

    private boolean isSilent() {
        return silentSince != null && timing.nanos() - silentSince < NEXT_QUESTION.toNanos();
    }

    private ConditionalWriteSupport orFull() {
        ConditionalWriteSupport learned = known;
        return learned == null ? ConditionalWriteSupport.FULL : learned;
    }

    /** State of the marker object. */
    private sealed interface Found {
        record Fresh(CapabilityMarker marker, String etag) implements Found {}

        /** Expired, or not a valid marker. */
        record Stale(String etag) implements Found {}

        record Newer() implements Found {}

        record None() implements Found {}

        record Unknown(StoreFailure failure) implements Found {}
    }

    private Found find() {
        return switch (store.get(layout.marker(), CapabilityMarker.MAX_BYTES)) {
            case GetResult.Found found -> switch (CapabilityMarker.parse(found.bytes().toArray(ValueLayout.JAVA_BYTE))) {
                case CapabilityMarker.Parsed.Known _ when found.dates().age().filter(CachedCapabilities::isExpired).isPresent() ->
                    new Found.Stale(found.etag());
                case CapabilityMarker.Parsed.Known sound -> new Found.Fresh(sound.marker(), found.etag());
                case CapabilityMarker.Parsed.Newer _ -> new Found.Newer();
                case CapabilityMarker.Parsed.Broken _ -> new Found.Stale(found.etag());
            };
            case GetResult.TooLarge _ -> new Found.Stale("");
            case GetResult.Absent _ -> new Found.None();
            case GetResult.Unavailable lost -> new Found.Unknown(lost.failure());
        };
    }

    private static boolean isExpired(Duration age) {
        return age.compareTo(CapabilityMarker.TIME_TO_LIVE) >= 0;
    }

    private ProbeResult probe(Found found) {
        isProbed = true;
        ProbeResult result = probes.get().run();
        switch (result) {
            case ProbeResult.Probed probed -> {
                known = probed.writes();
                leave(new CapabilityMarker(probed.writes(), probed.deletion(), probed.serverMillis(), config.producer()), found);
                LOG.atLevel(known == ConditionalWriteSupport.FULL ? Level.DEBUG : Level.INFO)
                        .log("{} was tried out: conditional writes are {}", config.location(), known);
            }
            case ProbeResult.NotAllowed refused -> unlearned(refused.failure());
            case ProbeResult.Unavailable lost -> unlearned(lost.failure());
        }
        return result;
    }

    private void unlearned(StoreFailure failure) {
        LOG.debug("what {} can do is not known: {}", config.location(), failure);
        if (Thread.currentThread().isInterrupted()) {
            isProbed = false; // the failure is of this thread, not of the server: the next caller probes again
        } else if (failure.isTransient() || failure.isUnsent()) {
            isProbed = false;
            silentSince = timing.nanos();
        } else if (known == null) {
            known = ConditionalWriteSupport.FULL;
        }
    }

    /**
     * Writes the marker with the strongest condition that the server supports. A concurrent writer
     * has written the same; after a failure the next process probes.
     */
    private void leave(CapabilityMarker marker, Found found) {
        byte[] body = marker.json();
        WriteResult result = switch (found) {
            case Found.Newer _ -> WriteResult.PRECONDITION_FAILED;
            case Found.None _, Found.Unknown _ when marker.writes() != ConditionalWriteSupport.NONE -> store.putIfAbsent(layout.marker(), body, ObjectMarks.NONE);
            case Found.Stale stale when marker.writes() == ConditionalWriteSupport.FULL && !stale.etag().isEmpty() ->
                store.replaceIfMatch(layout.marker(), stale.etag(), body, ObjectMarks.NONE);
            case Found.Fresh fresh when marker.writes() == ConditionalWriteSupport.FULL ->
                store.replaceIfMatch(layout.marker(), fresh.etag(), body, ObjectMarks.NONE);
            case Found.None _, Found.Stale _, Found.Fresh _, Found.Unknown _ -> store.put(layout.marker(), body, ObjectMarks.NONE);
        };
        if (!(result instanceof WriteResult.Done)) {
            LOG.debug("the store marker of {} was not written: {}", config.location(), result);
        }
    }
}
