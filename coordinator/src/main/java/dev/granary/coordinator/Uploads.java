package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Brings entries to the bucket, off the caller's path, some at a time. Thread-safe.
 *
 * <p>Entries wait in memory only up to a budget of bytes; beyond it only their ids wait, and the entry is read from the local tier again.
 * Each is noted in the {@link Outbox}, where there is one, until the bucket has answered.
 */
final class Uploads implements AutoCloseable {
    private static final int AT_ONCE = 8;
    private static final long MEMORY_BYTES = 64L << 20;

    private final Tier local;
    private final Sender sender;
    private final Optional<Outbox> outbox;
    private final Counters counters;
    private final ExecutorService workers = Executors.newFixedThreadPool(AT_ONCE, DaemonThreads.named("granary-upload"));
    private final ArrayDeque<Waiting> queue = new ArrayDeque<>(); // guarded by this
    private long bytesInMemory; // guarded by this
    private int workersAtWork; // guarded by this
    private int unanswered; // guarded by this: sent, or kept by the sender
    private boolean isFinishing; // guarded by this
    private boolean isClosed; // guarded by this

    /**
     * One upload that waits.
     *
     * @param entry null where it must be read from the local tier
     * @param isNoted true where the outbox keeps it for the next process
     */
    private record Waiting(Id id, @Nullable Entry entry, boolean isNoted, BiConsumer<Id, StoreResult> whenDone) {}

    Uploads(Tier local, Sender sender, Optional<Outbox> outbox, Counters counters) {
        this.local = local;
        this.sender = sender;
        this.outbox = outbox;
        this.counters = counters;
    }

    /** Uploads {@code entry} soon; {@code inLocalTier} tells whether it can be read from the local tier later. */
    void add(Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
        boolean isReadable = inLocalTier instanceof StoreResult.Stored || inLocalTier instanceof StoreResult.Duplicate;
        boolean isNoted = isReadable && note(entry.id());
        long bytes = entry.binaries().byteSize();
        synchronized (this) {
            if (isClosed) {
                countUndone(isNoted, 1);
                return;
            }
            if (bytesInMemory + bytes <= MEMORY_BYTES || queue.isEmpty()) {
                bytesInMemory += bytes;
                queue.add(new Waiting(entry.id(), entry, isNoted, whenDone));
                startWorker();
                return;
            } else if (isReadable) {
                queue.add(new Waiting(entry.id(), null, isNoted, whenDone));
                startWorker();
                return;
            }
            counters.dropped.increment();
        }
        whenDone.accept(entry.id(), new StoreResult.Failed("too much waits for the bucket, and the local tier could not keep it"));
    }

    /** Uploads what another process left; the entry is in the local tier, if anywhere. */
    synchronized void addInherited(Id id) {
        counters.adopted.increment();
        queue.add(new Waiting(id, null, true, (_, _) -> {}));
        startWorker();
    }

    /** True when nothing waits and nothing is under way; called with the lock held. */
    private boolean isIdle() {
        return queue.isEmpty() && workersAtWork == 0 && unanswered == 0;
    }

    /** Has the sender send what it keeps, where that is all that is left to be done; called with the lock held. */
    private void finishKept() {
        if (queue.isEmpty() && workersAtWork == 0 && unanswered > 0 && !isFinishing) {
            isFinishing = true;
            workers.execute(() -> {
                try {
                    sender.finish();
                } finally {
                    synchronized (this) {
                        isFinishing = false;
                        notifyAll();
                    }
                }
            });
        }
    }

    /** Waits until idle or closed, or until {@code System.nanoTime()} has reached {@code deadline}; true if it was idle. */
    synchronized boolean awaitIdle(long deadline) throws InterruptedException {
        while (!isIdle() && !isClosed) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            finishKept();
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return isIdle();
    }

    /** Stops; what was not uploaded stays in the outbox. What is under way counts as left, even if its answer still comes. */
    @Override
    public synchronized void close() {
        if (!isClosed) {
            isClosed = true;
            queue.forEach(waiting -> countUndone(waiting.isNoted(), 1));
            counters.leftForLater.add(unanswered);
            queue.clear();
            workers.shutdownNow();
            sender.close();
            notifyAll();
        }
    }

    private void countUndone(boolean isNoted, int count) {
        (isNoted ? counters.leftForLater : counters.dropped).add(count);
    }

    /** Called with the lock held: nobody closes between the question and the start. */
    private void startWorker() {
        if (!isClosed && workersAtWork < AT_ONCE) {
            workersAtWork++;
            workers.execute(this::work);
        }
    }

    private void work() {
        while (true) {
            Waiting next;
            synchronized (this) {
                next = queue.poll();
                if (next == null) {
                    workersAtWork--;
                    notifyAll();
                    return;
                }
                if (next.entry() != null) {
                    bytesInMemory -= next.entry().binaries().byteSize();
                }
                unanswered++;
            }
            AtomicBoolean isAnswered = new AtomicBoolean();
            Consumer<StoreResult> whenDone = result -> {
                if (isAnswered.compareAndSet(false, true)) {
                    finish(next, result);
                }
            };
            try {
                upload(next, whenDone);
            } catch (Throwable e) { // a store that breaks its contract, or an error, must not end this worker
                WarnOnce.warn("upload", "An upload failed: " + e);
                whenDone.accept(new StoreResult.Failed(e.toString()));
            }
        }
    }

    private void upload(Waiting next, Consumer<StoreResult> whenDone) {
        if (next.entry() != null) {
            sender.send(next.entry(), whenDone);
            return;
        }
        switch (local.cache().load(next.id())) {
            case LoadResult.Hit hit -> sender.send(hit.entry(), whenDone);
            case LoadResult.Absent _, LoadResult.Damaged _ -> {
                counters.dropped.increment();
                whenDone.accept(new StoreResult.Refused("it left the local tier before it was uploaded"));
            }
            case LoadResult.Unavailable lost -> whenDone.accept(new StoreResult.Failed(lost.cause()));
        }
    }

    private void finish(Waiting done, StoreResult result) {
        switch (result) {
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _, StoreResult.Refused _ -> forget(done);
            case StoreResult.Failed _, StoreResult.Unknown _ -> {
                synchronized (this) {
                    if (!isClosed) { // else it was counted when that happened
                        countUndone(done.isNoted(), 1);
                    }
                }
            }
        }
        try {
            done.whenDone().accept(done.id(), result);
        } catch (Throwable e) {
            WarnOnce.warn("listener", "The listener for published entries failed: " + e);
        } finally {
            synchronized (this) {
                unanswered--;
                notifyAll();
            }
        }
    }

    private boolean note(Id id) {
        try {
            if (outbox.isPresent()) {
                outbox.get().add(id);
            }
            return outbox.isPresent();
        } catch (IOException e) {
            WarnOnce.warn("outbox", "The outbox cannot be written, so uploads do not survive this process: " + e);
            return false;
        }
    }

    private void forget(Waiting done) {
        try {
            if (done.isNoted() && outbox.isPresent()) {
                outbox.get().remove(done.id());
            }
        } catch (IOException e) {
            WarnOnce.warn("outbox", "The outbox cannot be written; an entry will be uploaded again: " + e);
        }
    }
}
