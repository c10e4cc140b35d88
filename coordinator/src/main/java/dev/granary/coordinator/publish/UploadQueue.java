package dev.granary.coordinator.publish;

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
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.tier.CountedTier;
import dev.granary.coordinator.tier.Tiers.Layer;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Queue of uploads to one bucket, sent by a few threads off the callers' path. Thread-safe.
 *
 * <p>Queued entries are kept in memory up to a limit in bytes. Beyond it only their ids are queued,
 * and the entry is read from the local tier later. An id is queued once; all its listeners receive
 * the same result.
 *
 * <p>Each upload is noted in the {@link UploadOutbox}, if there is one. The note is removed when
 * the bucket has the entry, or refuses it for itself, such as one that is too large. Any other
 * failure may pass (rights, clock, region), so the note stays for the next process.
 *
 * <p>After such a failure, which its listeners receive, the upload waits for another attempt. One
 * upload is tried at a time, after half a minute to 16 minutes: the pause doubles with each
 * failure, and has a random part. When one succeeds, all others are due at once. So an outage costs
 * one attempt in each pause, however many uploads wait. If the bucket refuses any write, uploads of
 * further entries have the same result until the pause ends, without a request.
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
    private final RandomGenerator random;
    private final TaskQueue tasks =
            new TaskQueue("granary-upload", MAX_CONCURRENT, Integer.MAX_VALUE);

    // Guarded by this, as all that follows. Waits for a thread, is sent, or buffered by the
    // uploader. A note in the outbox changes together with it, else an upload could be lost.
    private final Map<Id, Upload> pending = new LinkedHashMap<>();
    private final SequencedMap<Id, Upload> failed = new LinkedHashMap<>(); // in order of attempts
    private @Nullable Upload trial; // the attempt after a pause
    private int failures; // of attempts after a pause
    private long pauseStart;
    private long pauseNanos;
    private @Nullable StoreResult refusal; // of the bucket, for any entry
    private long bytesInMemory;
    private boolean isFinishing;
    private boolean isClosed;

    public UploadQueue(
            CountedTier local,
            EntryUploader uploader,
            Optional<UploadOutbox> outbox,
            Counters counters,
            Ticker ticker,
            RandomGenerator random) {
        this.local = local;
        this.uploader = uploader;
        this.outbox = outbox;
        this.counters = counters;
        this.ticker = ticker;
        this.random = random;
    }

    /**
     * Creates the queue of the uploads to a layer. A tier of another implementation than a bucket
     * has no packs.
     */
    public static UploadQueue to(
            Layer layer,
            CountedTier local,
            boolean isInPacks,
            Optional<UploadOutbox> outbox,
            Counters counters) {
        return new UploadQueue(
                local,
                layer.bucket()
                        .filter(_ -> isInPacks)
                        .<EntryUploader>map(bucket -> new PackUploader(bucket, layer.tier()))
                        .orElseGet(() -> EntryUploader.unpacked(layer.tier())),
                outbox,
                counters,
                Ticker.SYSTEM,
                new SplittableRandom());
    }

    /** One upload without a result so far, or between two attempts. Guarded by the queue. */
    private static final class Upload {
        final Id id;
        final List<BiConsumer<Id, StoreResult>> listeners = new ArrayList<>();

        @Nullable
        Entry entry; // null if it is read from the local tier, and once it is sent

        boolean isReadable; // in the local tier
        boolean isNoted; // in the outbox
        boolean isSubmitted; // a thread has it, or will
        boolean isSent; // the uploader has it

        Upload(Id id) {
            this.id = id;
        }
    }

    /**
     * Queues the upload of {@code entry}.
     *
     * @param inLocalTier the result of storing it in the local tier
     */
    public void add(Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
        if (!accept(entry, inLocalTier, whenDone)) {
            whenDone.accept(
                    entry.id(),
                    new StoreResult.Failed("the upload queue is closed, or full without the entry"
                            + " in the local tier"));
        }
    }

    /** Returns false if the queue is full or closed. */
    private synchronized boolean accept(
            Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
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
        upload.listeners.add(whenDone);
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
        return upload == null ? new Upload(id) : upload;
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
                refused = upload != trial && isPaused() ? refusal : null;
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
        } catch (Throwable e) { // a broken contract or an error: the listeners are notified
            Warnings.warn("upload", "An upload failed: " + e);
            complete(upload, new StoreResult.Failed(e.toString()));
        } finally {
            synchronized (this) {
                upload.isSent = true;
                upload.entry = null; // an uploader that buffers has its own encoding
            }
        }
    }

    /** Completes an upload and notifies its listeners; only the first result has an effect. */
    private void complete(Upload upload, StoreResult result) {
        tasks.begin(); // a flush waits for the listeners
        try {
            if (end(upload, result)) {
                notifyListeners(upload, result);
            }
        } finally {
            tasks.end();
        }
    }

    private synchronized boolean end(Upload upload, StoreResult result) {
        if (!upload.isSubmitted || !pending.remove(upload.id, upload)) {
            return false;
        }
        boolean isSettled =
                switch (result) {
                    case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ ->
                        true;
                    case StoreResult.Refused refused -> refused.scope() == StoreResult.Scope.ENTRY;
                    case StoreResult.Failed _, StoreResult.Unknown _ -> false;
                };
        if (isSettled && upload.isNoted) {
            outbox.ifPresent(notes -> notes.remove(upload.id));
        }
        if (isSettled && result instanceof StoreResult.Refused) {
            counters.increment(Counter.STORES_DROPPED);
        }
        if (isSettled || result instanceof StoreResult.Refused) {
            refusal = isSettled ? null : result;
        }
        if (!isSettled && upload.isReadable) {
            keep(upload);
        } else if (!isSettled) {
            countUndone(upload.isNoted);
        } else if (upload == trial) {
            trial = null;
            List<Upload> due = List.copyOf(failed.values());
            failed.clear();
            due.forEach(this::submit);
        }
        return true;
    }

    /** Keeps a failed upload for another attempt, after all others that wait. Lock held. */
    private void keep(Upload upload) {
        if (upload == trial || (failed.isEmpty() && trial == null)) {
            failures = upload == trial ? Math.min(failures + 1, MAX_DOUBLINGS) : 0;
            trial = null;
            long longest = MIN_PAUSE_NANOS << failures;
            pauseStart = ticker.nanos();
            pauseNanos = longest - random.nextLong(longest / 2);
            ticker.after(Duration.ofNanos(pauseNanos), this::retryDue);
        }
        Upload again = new Upload(upload.id);
        again.isReadable = true;
        again.isNoted = upload.isNoted;
        failed.put(upload.id, again);
    }

    /** Submits the upload that failed first, if the pause is over. */
    private synchronized void retryDue() {
        if (!isClosed && trial == null && !failed.isEmpty() && !isPaused()) {
            trial = failed.pollFirstEntry().getValue();
            submit(trial);
        }
    }

    private boolean isPaused() {
        return ticker.nanos() - pauseStart < pauseNanos;
    }

    private static void notifyListeners(Upload upload, StoreResult result) {
        for (BiConsumer<Id, StoreResult> listener : upload.listeners) {
            try {
                listener.accept(upload.id, result);
            } catch (Throwable e) { // does not concern the others
                Warnings.warn("listener", "The listener for published entries failed: " + e);
            }
        }
    }

    /**
     * Waits until idle or closed, or until {@code System.nanoTime()} reaches {@code deadline}. An
     * upload that waits for another attempt was tried, and is not waited for.
     *
     * @return true if the queue was idle
     */
    public boolean awaitIdle(long deadline) throws InterruptedException {
        while (tasks.awaitIdle(deadline)) {
            synchronized (this) {
                if (pending.isEmpty()) {
                    return true;
                }
                // what had no thread so far, and what the uploader has buffered
                pending.values().forEach(this::submit);
                isFinishing = isFinishing || tasks.submit(this::finish);
                if (!isFinishing) { // no thread
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
        String cause = "the entry was sent, but no result was reported";
        try {
            uploader.finish();
        } catch (Throwable e) {
            Warnings.warn("upload", "An upload failed: " + e);
            cause = e.toString();
        }
        StoreResult lost = new StoreResult.Failed(cause);
        buffered.forEach(each -> complete(each, lost)); // no effect if it has a result
        synchronized (this) {
            isFinishing = false;
        }
    }

    /** Adds the requests over connections of the uploader, if it has some of its own. */
    public LayerStatistics addTo(LayerStatistics layer) {
        return uploader.addTo(layer);
    }

    /** Returns the number of uploads without success so far. */
    public synchronized int size() {
        return pending.size() + failed.size();
    }

    /**
     * Closes the queue; uploads that were not completed stay in the outbox, and their listeners are
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
            left = List.copyOf(pending.values());
            left.forEach(upload -> countUndone(upload.isNoted));
            failed.values().forEach(upload -> countUndone(upload.isNoted));
            pending.clear();
            failed.clear();
        }
        tasks.drain();
        for (Upload upload : left) {
            notifyListeners(
                    upload,
                    new StoreResult.Failed(
                            upload.isNoted
                                    ? "the cache was closed; the next process uploads the entry"
                                    : "the cache was closed before the upload"));
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

        /** Adds the requests over connections of its own; none if it uses those of the tier. */
        default LayerStatistics addTo(LayerStatistics layer) {
            return layer;
        }

        @Override
        default void close() {}

        /** Returns an uploader that sends each entry at once, unpacked. */
        static EntryUploader unpacked(CountedTier bucket) {
            return (entry, whenDone) -> whenDone.accept(bucket.store(entry));
        }
    }
}
