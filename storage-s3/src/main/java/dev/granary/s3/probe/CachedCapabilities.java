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
 * Learns what may be relied on in a bucket: from the store marker that somebody left there, else by a {@link CapabilityProbe}, whose result it leaves
 * there for the others.
 *
 * <p>The first that asks sends the requests; others that ask meanwhile wait for it, for a marker read or a probe is short, whoever publishes
 * does so behind its caller's back, and a guess would have to be taken back afterwards. What was learned is kept until the process ends. Where
 * nothing could be learned, {@link ConditionalWriteSupport#FULL} is assumed, which is true of most servers and does no harm with the others; where
 * that was because the server was silent, it is asked again some minutes later.
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

    /** What is known, without asking for it. */
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

    /** Tries the server out in any case, and leaves the result in the marker. */
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

    /** What lies where the marker should be. */
    private sealed interface Found {
        record Fresh(CapabilityMarker marker, String etag) implements Found {}

        /** Expired, or no marker. */
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
            isProbed = false; // the failure is this thread's own, and says nothing of the server: the next one asks again
        } else if (failure.isTransient() || failure.isUnsent()) {
            isProbed = false;
            silentSince = timing.nanos();
        } else if (known == null) {
            known = ConditionalWriteSupport.FULL;
        }
    }

    /** Writes the marker as carefully as the server can. Whoever was faster has written the same; a failure only makes the next one probe. */
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
