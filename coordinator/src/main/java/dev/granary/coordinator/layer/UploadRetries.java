package dev.granary.coordinator.layer;

import dev.granary.cache.Id;
import dev.granary.cache.support.Ticker;

import org.jspecify.annotations.Nullable;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * The uploads of one {@link UploadQueue} that have failed for a reason that may pass. One of them
 * is tried at a time, after half a minute to 16 minutes: the pause doubles with each failure, and
 * has a random part. When it is done, all others are due at once. So an outage costs one attempt in
 * each pause, however many uploads wait. Guarded by the queue.
 */
final class UploadRetries {
    private static final long MIN_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MAX_DOUBLINGS = 4;

    private final Ticker ticker;
    private final RandomGenerator random;
    private final SequencedMap<Id, PendingUpload> waiting = new LinkedHashMap<>();
    private @Nullable PendingUpload trial; // the attempt that is under way
    private int failures;
    private long startNanos;
    private long pauseNanos;

    UploadRetries(Ticker ticker, RandomGenerator random) {
        this.ticker = ticker;
        this.random = random;
    }

    /** Keeps the upload for a later attempt, after all others that wait. */
    void failed(PendingUpload upload) {
        if (upload == trial || (waiting.isEmpty() && trial == null)) {
            failures = upload == trial ? Math.min(failures + 1, MAX_DOUBLINGS) : 0;
            trial = null;
            pause();
        }
        PendingUpload again = new PendingUpload(upload.id);
        again.isInOutbox = upload.isInOutbox;
        again.isReadable = true;
        waiting.put(upload.id, again);
    }

    /** Starts a pause, between the whole of its length and a half of that. */
    private void pause() {
        long longest = MIN_NANOS << failures;
        startNanos = ticker.nanos();
        pauseNanos = longest - random.nextLong(longest / 2);
    }

    /** Returns the upload to try now; empty if there is none, or it is too early. */
    Optional<PendingUpload> due() {
        if (trial != null || waiting.isEmpty() || ticker.nanos() - startNanos < pauseNanos) {
            return Optional.empty();
        }
        trial = waiting.pollFirstEntry().getValue();
        return Optional.of(trial);
    }

    /**
     * Records that an upload needs no further attempt.
     *
     * @return the uploads that are due now: all others, if it was the attempt after a pause
     */
    Collection<PendingUpload> done(PendingUpload upload) {
        if (upload != trial) {
            return List.of();
        }
        trial = null;
        return removeAll();
    }

    /** Removes the upload of an id, which is queued anew. */
    Optional<PendingUpload> remove(Id id) {
        return Optional.ofNullable(waiting.remove(id));
    }

    /** Removes and returns all uploads. */
    Collection<PendingUpload> removeAll() {
        List<PendingUpload> all = List.copyOf(waiting.values());
        waiting.clear();
        failures = 0;
        return all;
    }
}
