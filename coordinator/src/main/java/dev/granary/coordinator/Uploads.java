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
import java.util.function.BiConsumer;
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
    private final Tier bucket;
    private final Optional<Outbox> outbox;
    private final Counters counters;
    private final ExecutorService workers = Executors.newFixedThreadPool(AT_ONCE, DaemonThreads.named("granary-upload"));
    private final ArrayDeque<Waiting> queue = new ArrayDeque<>(); // guarded by this
    private long bytesInMemory; // guarded by this
    private int underWay; // guarded by this
    private boolean isClosed; // guarded by this

    /** One upload that waits; {@code entry} is null where it must be read from the local tier. */
    private record Waiting(Id id, @Nullable Entry entry, BiConsumer<Id, StoreResult> whenDone) {}

    Uploads(Tier local, Tier bucket, Optional<Outbox> outbox, Counters counters) {
        this.local = local;
        this.bucket = bucket;
        this.outbox = outbox;
        this.counters = counters;
    }

    /** Uploads {@code entry} soon; {@code isLocal} tells whether it can be read from the local tier when its turn comes. */
    void add(Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
        note(entry.id());
        boolean readable = inLocalTier instanceof StoreResult.Stored || inLocalTier instanceof StoreResult.Duplicate;
        synchronized (this) {
            long bytes = entry.binaries().byteSize();
            if (bytesInMemory + bytes <= MEMORY_BYTES || queue.isEmpty()) {
                bytesInMemory += bytes;
                queue.add(new Waiting(entry.id(), entry, whenDone));
            } else if (readable) {
                queue.add(new Waiting(entry.id(), null, whenDone));
            } else {
                counters.dropped.increment();
                return;
            }
        }
        startWorker();
    }

    /** Uploads what another process left; the entry is in the local tier, if anywhere. */
    void addInherited(Id id) {
        counters.adopted.increment();
        synchronized (this) {
            queue.add(new Waiting(id, null, (_, _) -> {}));
        }
        startWorker();
    }

    /** True when nothing waits and nothing is under way. */
    synchronized boolean isIdle() {
        return queue.isEmpty() && underWay == 0;
    }

    /** How many wait or are under way. */
    synchronized int pending() {
        return queue.size() + underWay;
    }

    /** Waits until idle, or until {@code System.nanoTime()} has reached {@code deadline}. */
    synchronized void awaitIdle(long deadline) throws InterruptedException {
        while (!isIdle()) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                return;
            }
            wait(Math.max(1, left / 1_000_000));
        }
    }

    /** Stops; what was not uploaded stays in the outbox. */
    @Override
    public void close() {
        synchronized (this) {
            isClosed = true;
            counters.leftForLater.add(queue.size() + (long) underWay);
            queue.clear();
        }
        workers.shutdownNow();
    }

    private void startWorker() {
        synchronized (this) {
            if (isClosed || underWay >= AT_ONCE) {
                return;
            }
            underWay++;
        }
        workers.execute(this::work);
    }

    private void work() {
        while (true) {
            Waiting next;
            synchronized (this) {
                next = queue.poll();
                if (next == null || isClosed) {
                    underWay--;
                    notifyAll();
                    return;
                }
                if (next.entry() != null) {
                    bytesInMemory -= next.entry().binaries().byteSize();
                }
            }
            upload(next);
        }
    }

    private void upload(Waiting next) {
        Entry entry = next.entry();
        if (entry == null && local.cache().load(next.id()) instanceof LoadResult.Hit hit) {
            entry = hit.entry();
        }
        if (entry == null) {
            counters.dropped.increment(); // evicted before its turn came
            forget(next.id());
            next.whenDone().accept(next.id(), new StoreResult.Failed("it left the local tier before it was uploaded"));
            return;
        }
        StoreResult result = bucket.store(entry);
        switch (result) {
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _, StoreResult.Refused _ -> forget(next.id());
            case StoreResult.Failed _, StoreResult.Unknown _ -> counters.leftForLater.increment();
        }
        next.whenDone().accept(next.id(), result);
    }

    private void note(Id id) {
        try {
            if (outbox.isPresent()) {
                outbox.get().add(id);
            }
        } catch (IOException e) {
            WarnOnce.warn("outbox", "The outbox cannot be written, so uploads do not survive this process: " + e);
        }
    }

    private void forget(Id id) {
        try {
            if (outbox.isPresent()) {
                outbox.get().remove(id);
            }
        } catch (IOException e) {
            WarnOnce.warn("outbox", "The outbox cannot be written; an entry will be uploaded again: " + e);
        }
    }
}
