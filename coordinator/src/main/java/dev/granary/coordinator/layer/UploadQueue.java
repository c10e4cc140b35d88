package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.LogOnce;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.session.UploadOutbox;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.CountingCache;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * Queue of uploads to one bucket, sent by a few threads off the callers' path. Thread-safe.
 *
 * <p>Queued entries are kept in memory up to a limit in bytes. Beyond it only their ids are queued,
 * and the entry is read from the local tier later. An id is queued once; all its listeners receive
 * the same result.
 *
 * <p>Each upload is recorded in the {@link UploadOutbox}, if there is one. The record is removed
 * when the bucket has the entry, or refuses it for itself, such as one that is too large. Any other
 * failure may be temporary (rights, clock, region, a pause after one), so the record stays for the
 * next process.
 *
 * <p>After such a failure, which its listeners receive, the upload {@linkplain UploadRetries waits}
 * and is tried again while the process lives.
 */
public final class UploadQueue implements AutoCloseable {
    private static final int MAX_CONCURRENT = 8;
    private static final long MEMORY_BYTES = 64L << 20;

    /** The time between two looks at the failed uploads. */
    private static final Duration RETRY_CHECK = Duration.ofSeconds(15);

    /** The pause of a flush before it tries again to start a thread. */
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final CountingCache local;
    private final EntryUploader uploader;
    private final Optional<UploadOutbox> outbox;
    private final LookupCounters counters;
    private final ExecutorService workers =
            Executors.newFixedThreadPool(MAX_CONCURRENT, DaemonThreads.named("granary-upload"));

    /**
     * Lock of the outbox, acquired before {@code this}: the outbox and {@link #pending} change
     * together, else an upload could be lost between both.
     */
    private final Object outboxLock = new Object();

    // guarded by this; queued, sent, or buffered by the uploader
    private final Map<Id, PendingUpload> pending = new HashMap<>();
    private final ArrayDeque<PendingUpload> queue = new ArrayDeque<>(); // guarded by this
    private final UploadRetries retries; // guarded by this
    private final Lazy<ScheduledExecutorService> timer = new Lazy<>(this::startTimer);
    private long bytesInMemory; // guarded by this
    private int activeWorkers; // guarded by this
    private int activeNotifications; // guarded by this; listeners that are being notified
    private boolean isFinishing; // guarded by this
    private boolean isClosed; // guarded by this

    public UploadQueue(
            CountingCache local,
            EntryUploader uploader,
            Optional<UploadOutbox> outbox,
            LookupCounters counters) {
        this(
                local,
                uploader,
                outbox,
                counters,
                new UploadRetries(Ticker.SYSTEM, new SplittableRandom()));
    }

    UploadQueue(
            CountingCache local,
            EntryUploader uploader,
            Optional<UploadOutbox> outbox,
            LookupCounters counters,
            UploadRetries retries) {
        this.retries = retries;
        this.local = local;
        this.uploader = uploader;
        this.outbox = outbox;
        this.counters = counters;
    }

    /**
     * Queues the upload of {@code entry}.
     *
     * @param inLocalTier the result of storing it in the local tier
     */
    public void add(Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
        boolean isReadable = inLocalTier instanceof StoreResult.Stored
                || inLocalTier instanceof StoreResult.Duplicate;
        synchronized (outboxLock) {
            boolean isInOutbox =
                    isReadable && outbox.isPresent() && outbox.get().add(entry.id());
            if (accept(entry, isReadable, isInOutbox, whenDone)) {
                return;
            }
        }
        whenDone.accept(
                entry.id(),
                new StoreResult.Failed(
                        "the upload queue is full, and the entry is not in the local tier"));
    }

    /** Returns false if the queue is full. */
    private synchronized boolean accept(
            Entry entry,
            boolean isReadable,
            boolean isInOutbox,
            BiConsumer<Id, StoreResult> whenDone) {
        if (isClosed) {
            countUndone(isInOutbox);
            return true;
        }
        boolean hasRoom =
                bytesInMemory + entry.binaries().byteSize() <= MEMORY_BYTES || queue.isEmpty();
        PendingUpload existing = pending.get(entry.id());
        if (existing == null && !hasRoom && !isReadable) {
            counters.increment(LookupCounter.DROPPED);
            return false;
        }
        PendingUpload upload = existing == null ? enqueue(entry.id()) : existing;
        upload.listeners.add(whenDone);
        upload.isInOutbox |= isInOutbox;
        upload.isReadable |= isReadable;
        if (hasRoom && upload.entry == null && !upload.isStarted) {
            upload.entry = entry;
            upload.bytes = entry.binaries().byteSize();
            bytesInMemory += upload.bytes;
        }
        return true;
    }

    /** Queues an upload that an ended process left. Its entry is in the local tier, if anywhere. */
    public synchronized void addInherited(Id id) {
        counters.increment(LookupCounter.ADOPTED);
        // several processes may have left the same upload
        PendingUpload upload = pending.containsKey(id) ? pending.get(id) : enqueue(id);
        upload.isInOutbox = true;
        upload.isReadable = true;
    }

    /** Adds an upload to the queue. Called with the lock held. */
    private PendingUpload enqueue(Id id) {
        PendingUpload upload = retries.remove(id).orElseGet(() -> new PendingUpload(id));
        enqueue(upload);
        return upload;
    }

    private void enqueue(PendingUpload upload) {
        pending.put(upload.id, upload);
        queue.add(upload);
        startWorker();
    }

    /** Queues the failed uploads that are due. */
    synchronized void retryDue() {
        if (!isClosed) {
            retries.due().ifPresent(this::enqueue);
        }
    }

    private ScheduledExecutorService startTimer() {
        ScheduledExecutorService started = Executors.newSingleThreadScheduledExecutor(
                DaemonThreads.named("granary-upload-retry"));
        ScheduledFuture<?> _ = started.scheduleWithFixedDelay(
                this::retryDue, RETRY_CHECK.toSeconds(), RETRY_CHECK.toSeconds(), TimeUnit.SECONDS);
        return started;
    }

    /** Keeps an upload that has failed for a later attempt. Called with the lock held. */
    private void keep(PendingUpload failed) {
        try {
            timer.get();
        } catch (Throwable e) { // such as out of memory for the thread
            LogOnce.warn("upload", "No thread could be started for uploads: " + e);
        }
        retries.failed(failed);
    }

    /** Sends the buffered entries, if nothing else is left to do. Called with the lock held. */
    private void finishBuffered() {
        if (queue.isEmpty() && activeWorkers == 0 && !pending.isEmpty() && !isFinishing) {
            List<PendingUpload> buffered = List.copyOf(pending.values());
            isFinishing = start(() -> finish(buffered));
        }
    }

    /**
     * Finishes the uploader. Each of {@code buffered} is completed even if that fails, else flush
     * would wait for it until its deadline.
     */
    private void finish(List<PendingUpload> buffered) {
        String cause = "the entry was sent, but no result was reported";
        try {
            uploader.finish();
        } catch (Throwable e) {
            LogOnce.warn("upload", "An upload failed: " + e);
            cause = e.toString();
        } finally {
            for (PendingUpload each : buffered) {
                complete(each, new StoreResult.Failed(cause)); // no effect if it has a result
            }
            synchronized (this) {
                isFinishing = false;
                notifyAll();
            }
        }
    }

    /**
     * Waits until idle or closed, or until {@code System.nanoTime()} reaches {@code deadline}. An
     * upload that waits for another attempt was tried, and is not waited for.
     *
     * @return true if the queue was idle
     */
    public synchronized boolean awaitIdle(long deadline) throws InterruptedException {
        while (!isIdle() && !isClosed) {
            long remaining = deadline - System.nanoTime();
            if (remaining <= 0) {
                return false;
            }
            if (!queue.isEmpty() && activeWorkers == 0) {
                startWorker(); // the system had no thread for it
            }
            finishBuffered();
            boolean isStalled = activeWorkers == 0 && !isFinishing;
            TimeUnit.NANOSECONDS.timedWait(
                    this, isStalled ? Math.min(remaining, RETRY_NANOS) : remaining);
        }
        return isIdle();
    }

    /** Returns the requests over connections of the uploader; empty if it has none of its own. */
    Optional<LayerStatistics.Requests> requests() {
        return uploader.requests();
    }

    /** Returns true if no upload is queued or in progress. Called with the lock held. */
    private boolean isIdle() {
        return pending.isEmpty() && activeWorkers == 0 && activeNotifications == 0;
    }

    /**
     * Closes the queue; uploads that were not completed stay in the outbox. Uploads in progress
     * count as left, even if they still succeed.
     */
    @Override
    public synchronized void close() {
        if (!isClosed) {
            isClosed = true;
            pending.values().forEach(upload -> countUndone(upload.isInOutbox));
            pending.values().removeIf(upload -> !upload.isStarted);
            retries.removeAll().forEach(upload -> countUndone(upload.isInOutbox));
            queue.clear();
            workers.shutdownNow();
            ScheduledExecutorService started = timer.peek();
            if (started != null) {
                started.shutdownNow();
            }
            uploader.close();
            notifyAll();
        }
    }

    private void countUndone(boolean isInOutbox) {
        counters.increment(isInOutbox ? LookupCounter.LEFT_FOR_LATER : LookupCounter.DROPPED);
    }

    /**
     * Starts a worker if there is room for one. Called with the lock held, so that the queue is not
     * closed in between.
     */
    private void startWorker() {
        if (!isClosed && activeWorkers < MAX_CONCURRENT) {
            activeWorkers += start(this::work) ? 1 : 0;
        }
    }

    /** Returns false if there is no thread for {@code action}; its uploads stay queued. */
    private boolean start(Runnable action) {
        try {
            workers.execute(action);
            return true;
        } catch (Throwable e) { // such as out of memory for the thread
            LogOnce.warn("upload", "No thread could be started for uploads: " + e);
            return false;
        }
    }

    private void work() {
        while (true) {
            PendingUpload next;
            synchronized (this) {
                next = queue.poll();
                if (next == null) {
                    activeWorkers--;
                    notifyAll();
                    return;
                }
                next.isStarted = true;
                bytesInMemory -= next.bytes;
            }
            try {
                upload(next);
            } catch (Throwable e) {
                // a broken contract or an error: this worker goes on, and the listeners are
                // notified
                LogOnce.warn("upload", "An upload failed: " + e);
                complete(next, new StoreResult.Failed(e.toString()));
            } finally {
                // an uploader that buffers the entry has its own encoding of it
                setEntry(next, null);
            }
        }
    }

    private synchronized void setEntry(PendingUpload upload, @Nullable Entry entry) {
        upload.entry = entry;
    }

    private synchronized @Nullable Entry entryOf(PendingUpload upload) {
        return upload.entry;
    }

    private void upload(PendingUpload next) {
        Entry entry = entryOf(next);
        if (entry != null) {
            uploader.send(entry, result -> complete(next, result));
            return;
        }
        switch (local.cache().load(next.id)) {
            case LoadResult.Hit hit -> {
                setEntry(next, hit.entry());
                uploader.send(hit.entry(), result -> complete(next, result));
            }
            case LoadResult.Absent _, LoadResult.Damaged _ ->
                complete(
                        next,
                        new StoreResult.Refused(
                                StoreResult.Scope.ENTRY,
                                "the entry was lost from the local tier before its upload"));
            case LoadResult.Unavailable lost ->
                complete(next, new StoreResult.Failed(lost.cause()));
        }
    }

    /** Completes an upload and notifies its listeners; only the first result has an effect. */
    private void complete(PendingUpload upload, StoreResult result) {
        boolean isSettled = PendingUpload.isSettled(result);
        List<BiConsumer<Id, StoreResult>> listeners;
        synchronized (outboxLock) {
            synchronized (this) {
                if (pending.get(upload.id) != upload || !upload.isStarted) {
                    return;
                }
                pending.remove(upload.id);
                activeNotifications++;
                listeners = List.copyOf(upload.listeners);
                if (!isClosed) { // otherwise counted by close
                    if (isSettled) {
                        retries.done(upload).forEach(this::enqueue);
                        if (result instanceof StoreResult.Refused) {
                            counters.increment(LookupCounter.DROPPED);
                        }
                    } else if (upload.isReadable) {
                        keep(upload);
                    } else {
                        countUndone(upload.isInOutbox);
                    }
                }
            }
            if (isSettled && upload.isInOutbox) {
                outbox.ifPresent(notes -> notes.remove(upload.id));
            }
        }
        listeners.forEach(listener -> upload.notifyListener(listener, result));
        synchronized (this) {
            activeNotifications--;
            notifyAll();
        }
    }
}
