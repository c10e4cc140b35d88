package dev.granary.coordinator.publish;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.TaskQueue;
import dev.granary.cache.support.Ticker;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.machine.UploadOutbox;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CountedTier;
import dev.granary.coordinator.tier.Tiers.Layer;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Queue of uploads to one bucket, sent by a few threads off the callers' path. Thread-safe.
 *
 * <p>Queued entries are kept in memory up to a limit in bytes. Beyond it only their ids are queued,
 * and the entry is read from the local tier later. An id is queued once, and has one result.
 *
 * <p>Each upload is noted in the {@link UploadOutbox}, if there is one. The note is removed when
 * the bucket has the entry, or refuses it for itself, such as one that is too large. Any other
 * failure may pass (rights, clock, region), so the note stays for the next process.
 *
 * <p>After such a failure, which the listener receives, the upload waits for another attempt. All
 * that have failed are tried again after half a minute to 16 minutes: the pause doubles with each
 * failure, and has a random part. If the bucket refuses any write, uploads have the same result
 * until the pause ends, without a request.
 */
public final class UploadQueue implements AutoCloseable {
    private static final int MAX_CONCURRENT = 8;
    private static final long MEMORY_BYTES = 64L << 20;
    private static final long MIN_PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MAX_DOUBLINGS = 4;

    private final CountedTier local;
    private final EntryUploader uploader;
    private final Optional<UploadOutbox> outbox;
    private final Counters counters;
    private final Ticker ticker;
    private final BiConsumer<Id, StoreResult> whenDone;
    private final TaskQueue tasks =
            new TaskQueue("granary-upload", MAX_CONCURRENT, Integer.MAX_VALUE);

    // Guarded by this, as all that follows. Waits for a thread, is sent, or buffered by the
    // uploader. A note in the outbox changes together with it, else an upload could be lost.
    private final Map<Id, Upload> pending = new LinkedHashMap<>();
    private final Map<Id, Upload> failed = new HashMap<>(); // wait for the end of the pause
    private boolean isPaused;
    private @Nullable StoreResult refusal; // of the bucket, for any entry
    private long bytesInMemory;
    private boolean isClosed;

    /**
     * Creates an empty queue.
     *
     * @param whenDone receives the result of the first attempt of each added entry; may not throw
     */
    public UploadQueue(
            CountedTier local,
            EntryUploader uploader,
            Optional<UploadOutbox> outbox,
            Counters counters,
            Ticker ticker,
            BiConsumer<Id, StoreResult> whenDone) {
        this.local = local;
        this.uploader = uploader;
        this.outbox = outbox;
        this.counters = counters;
        this.ticker = ticker;
        this.whenDone = whenDone;
    }

    /** One upload without a result so far, or between two attempts. Guarded by the queue. */
    private static final class Upload {
        final Id id;
        final int attempts; // before this one

        @Nullable
        Entry entry; // null if it is read from the local tier, and once it is sent

        boolean isAwaited; // by the listener
        boolean isReadable; // in the local tier
        boolean isNoted; // in the outbox
        boolean isSubmitted; // a thread has it, or will
        boolean isSent; // the uploader has it

        Upload(Id id, int attempts) {
            this.id = id;
            this.attempts = attempts;
        }
    }

    /**
     * Queues the upload of {@code entry}.
     *
     * @param inLocalTier the result of storing it in the local tier
     */
    public void add(Entry entry, StoreResult inLocalTier) {
        if (!accept(entry, inLocalTier)) {
            whenDone.accept(
                    entry.id(),
                    new StoreResult.Failed("the upload queue is closed, or full without the entry"
                            + " in the local tier"));
        }
    }

    /** Returns false if the queue is full or closed. */
    private synchronized boolean accept(Entry entry, StoreResult inLocalTier) {
        boolean isReadable = inLocalTier instanceof StoreResult.Stored
                || inLocalTier instanceof StoreResult.Duplicate;
        boolean isNoted = isReadable && outbox.isPresent() && outbox.get().add(entry.id());
        if (isClosed) {
            countUndone(isNoted);
            return false;
        }
        Upload known = pending.get(entry.id());
        long bytes = entry.binaries().byteSize();
        boolean hasRoom = bytesInMemory == 0 || bytesInMemory + bytes <= MEMORY_BYTES;
        if (known == null && !hasRoom && !isReadable) {
            counters.increment(Counter.STORES_DROPPED);
            return false;
        }
        Upload upload = known == null ? waiting(entry.id()) : known;
        if (known == null && hasRoom) {
            upload.entry = entry;
            bytesInMemory += bytes;
        }
        upload.isReadable |= isReadable;
        upload.isNoted |= isNoted;
        upload.isAwaited = true;
        submit(upload);
        return true;
    }

    /** Queues an upload that an ended process left. Its entry is in the local tier, if anywhere. */
    public synchronized void addInherited(Id id) {
        counters.increment(Counter.UPLOADS_INHERITED);
        // several processes may have left the same upload
        Upload upload = pending.containsKey(id) ? pending.get(id) : waiting(id);
        upload.isReadable = true;
        upload.isNoted = true;
        submit(upload);
    }

    /** Returns the upload that waits for another attempt, else a new one. Lock held. */
    private Upload waiting(Id id) {
        Upload upload = failed.remove(id);
        return upload == null ? new Upload(id, 0) : upload;
    }

    /** Submits an upload, once. Without a thread it stays pending, until a flush. Lock held. */
    private void submit(Upload upload) {
        pending.put(upload.id, upload);
        if (!upload.isSubmitted) {
            upload.isSubmitted = tasks.submit(() -> send(upload));
        }
    }

    private void send(Upload upload) {
        try {
            Entry kept;
            @Nullable StoreResult refused;
            synchronized (this) {
                kept = upload.entry;
                bytesInMemory -= kept == null ? 0 : kept.binaries().byteSize();
                refused = refusal;
            }
            if (refused != null) {
                complete(upload, refused);
                return;
            }
            LoadResult loaded = kept == null ? local.read(upload.id) : new LoadResult.Hit(kept);
            switch (loaded) {
                case LoadResult.Hit(Entry entry) ->
                    uploader.send(entry, result -> complete(upload, result));
                case LoadResult.Absent _, LoadResult.Damaged _ ->
                    complete(
                            upload,
                            new StoreResult.Refused(
                                    StoreResult.Scope.ENTRY,
                                    "the entry was lost from the local tier before its upload"));
                case LoadResult.Unavailable(String cause) ->
                    complete(upload, new StoreResult.Failed(cause));
            }
        } catch (Throwable e) { // a broken contract or an error: the listener is notified
            complete(upload, failure(e));
        } finally {
            synchronized (this) {
                upload.isSent = true;
                upload.entry = null; // an uploader that buffers has its own encoding
            }
        }
    }

    /** Completes an upload and notifies the listener; only the first result has an effect. */
    private void complete(Upload upload, StoreResult result) {
        tasks.begin(); // a flush waits for the listener
        try {
            if (end(upload, result) && upload.isAwaited) {
                whenDone.accept(upload.id, result);
            }
        } finally {
            tasks.end();
        }
    }

    private synchronized boolean end(Upload upload, StoreResult result) {
        if (!pending.remove(upload.id, upload)) {
            return false;
        }
        boolean isSettled =
                switch (result) {
                    case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ ->
                        true;
                    case StoreResult.Refused refused -> refused.scope() == StoreResult.Scope.ENTRY;
                    case StoreResult.Failed _, StoreResult.Unknown _ -> false;
                };
        if (isSettled) {
            refusal = null;
            if (upload.isNoted) {
                outbox.ifPresent(notes -> notes.remove(upload.id));
            }
            if (result instanceof StoreResult.Refused) {
                counters.increment(Counter.STORES_DROPPED);
            }
            return true;
        }
        if (result instanceof StoreResult.Refused) {
            refusal = result;
        }
        pause(upload.attempts);
        if (upload.isReadable) {
            Upload again = new Upload(upload.id, Math.min(upload.attempts + 1, MAX_DOUBLINGS));
            again.isReadable = true;
            again.isNoted = upload.isNoted;
            failed.put(upload.id, again);
        } else {
            countUndone(upload.isNoted);
        }
        return true;
    }

    /** Begins a pause, unless one has begun, after which what has failed is tried again. */
    private void pause(int doublings) {
        if (!isPaused) {
            isPaused = true;
            long longest = MIN_PAUSE_NANOS << doublings;
            long pause = longest - ThreadLocalRandom.current().nextLong(longest / 2);
            ticker.after(Duration.ofNanos(pause), this::tryAgain);
        }
    }

    private synchronized void tryAgain() {
        isPaused = false;
        refusal = null;
        List<Upload> due = List.copyOf(failed.values());
        failed.clear();
        due.forEach(this::submit);
    }

    /**
     * Waits until idle or closed, or until the deadline. An upload that waits for another attempt
     * was tried, and is not waited for.
     *
     * @return true if the queue was idle
     */
    public boolean awaitIdle(Deadline deadline) throws InterruptedException {
        while (tasks.awaitIdle(deadline)) {
            synchronized (this) {
                if (pending.isEmpty()) {
                    return true;
                }
                // what had no thread so far, and what the uploader has buffered
                pending.values().forEach(this::submit);
                if (!tasks.submit(this::finish)) { // no thread
                    return false;
                }
            }
        }
        return false;
    }

    /**
     * Finishes the uploader. Each upload that it has is completed even if that fails, else a flush
     * would wait for it until its deadline.
     */
    private void finish() {
        List<Upload> buffered;
        synchronized (this) {
            buffered = pending.values().stream().filter(each -> each.isSent).toList();
        }
        StoreResult lost = new StoreResult.Failed("the entry was sent, but no result was reported");
        try {
            uploader.finish();
        } catch (Throwable e) {
            lost = failure(e);
        }
        for (Upload each : buffered) {
            complete(each, lost); // no effect if it has a result
        }
    }

    /** Logs a failure, but not of a layer that was closed after this queue. */
    private synchronized StoreResult failure(Throwable e) {
        if (!isClosed) {
            Warnings.warn("upload", "An upload failed: " + e);
        }
        return new StoreResult.Failed(e.toString());
    }

    /** Returns the number of uploads without success so far. */
    public synchronized int size() {
        return pending.size() + failed.size();
    }

    /**
     * Closes the queue; uploads that were not completed stay in the outbox, and the listener is
     * notified. Uploads in progress count as left, even if they still succeed.
     */
    @Override
    public void close() {
        List<Upload> left;
        synchronized (this) {
            if (isClosed) {
                return;
            }
            isClosed = true;
            left = Stream.concat(pending.values().stream(), failed.values().stream())
                    .toList();
            left.forEach(upload -> countUndone(upload.isNoted));
            pending.clear();
            failed.clear();
        }
        tasks.drain();
        for (Upload upload : left) {
            if (upload.isAwaited) {
                String later = upload.isNoted
                        ? "the cache was closed; the next process uploads the entry"
                        : "the cache was closed before the upload";
                whenDone.accept(upload.id, new StoreResult.Failed(later));
            }
        }
        uploader.close();
    }

    private void countUndone(boolean isNoted) {
        counters.increment(isNoted ? Counter.UPLOADS_LEFT : Counter.STORES_DROPPED);
    }

    /**
     * Uploader of entries to a bucket for {@link UploadQueue}: unpacked, or in packs. Thread-safe.
     */
    @FunctionalInterface
    public interface EntryUploader extends AutoCloseable {
        /**
         * Sends an entry, or buffers it until a pack is full.
         *
         * @param whenDone receives the result once, on any thread
         */
        void send(Entry entry, Consumer<StoreResult> whenDone);

        /** Sends all buffered entries, if it buffers some. */
        default void finish() {}

        @Override
        default void close() {}

        /** Returns the uploader to a layer. A tier that is no bucket has no packs. */
        static EntryUploader to(Layer layer, boolean isInPacks) {
            return layer.bucket()
                    .filter(_ -> isInPacks)
                    .<EntryUploader>map(bucket -> new PackUploader(bucket, layer.tier()))
                    .orElseGet(() -> unpacked(layer.tier()));
        }

        /** Returns an uploader that sends each entry at once, unpacked. */
        static EntryUploader unpacked(CountedTier bucket) {
            return (entry, whenDone) -> whenDone.accept(bucket.store(entry));
        }
    }
}
