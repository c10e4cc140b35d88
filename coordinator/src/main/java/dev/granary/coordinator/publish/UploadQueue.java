package dev.granary.coordinator.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.session.UploadOutbox;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.CountingCache;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Brings entries to the bucket, off the caller's path, some at a time. Thread-safe.
 *
 * <p>Entries wait in memory only up to a budget of bytes; beyond it only their ids wait, and the entry is read from the local tier again.
 * An id is under way once, however many callers ask for it: all of them hear the one answer.
 *
 * <p>Each upload is noted in the {@link UploadOutbox}, where there is one. The note goes when the bucket has the entry, or when no bucket could ever
 * take it. Every other refusal may pass (rights, clock, region, a pause after one), so the note stays for the next process.
 */
final class UploadQueue implements AutoCloseable {
    private static final int AT_ONCE = 8;
    private static final long MEMORY_BYTES = 64L << 20;

    private final CountingCache local;
    private final EntryUploader sender;
    private final Optional<UploadOutbox> outbox;
    private final LookupCounters counters;
    private final ExecutorService workers = Executors.newFixedThreadPool(AT_ONCE, DaemonThreads.named("granary-upload"));

    /** Locked before {@code this}: a note is written or removed together with the place in {@link #underWay}, else one is lost between both. */
    private final Object noting = new Object();

    private final Map<Id, Waiting> underWay = new HashMap<>(); // guarded by this: in the queue, sent, or kept by the sender
    private final ArrayDeque<Waiting> queue = new ArrayDeque<>(); // guarded by this
    private long bytesInMemory; // guarded by this
    private int workersAtWork; // guarded by this
    private int telling; // guarded by this: answers on their way to the listeners
    private boolean isFinishing; // guarded by this
    private boolean isClosed; // guarded by this

    /** One upload without an answer so far. All of it is guarded by the uploads. */
    private static final class Waiting {
        private final Id id;
        private final List<BiConsumer<Id, StoreResult>> listeners = new ArrayList<>();
        private @Nullable Entry entry; // null where it must be read from the local tier, and after it was sent
        private long bytes; // of the budget
        private boolean isNoted; // the outbox keeps it for the next process
        private boolean isBegun;

        Waiting(Id id) {
            this.id = id;
        }
    }

    UploadQueue(CountingCache local, EntryUploader sender, Optional<UploadOutbox> outbox, LookupCounters counters) {
        this.local = local;
        this.sender = sender;
        this.outbox = outbox;
        this.counters = counters;
    }

    /** Uploads {@code entry} soon; {@code inLocalTier} tells whether it can be read from the local tier later. */
    void add(Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
        boolean isReadable = inLocalTier instanceof StoreResult.Stored || inLocalTier instanceof StoreResult.Duplicate;
        synchronized (noting) {
            boolean isNoted = isReadable && note(entry.id());
            if (isTaken(entry, isReadable, isNoted, whenDone)) {
                return;
            }
        }
        whenDone.accept(entry.id(), new StoreResult.Failed("too much waits for the bucket, and the local tier could not keep it"));
    }

    /** False where there is no place for it. */
    private synchronized boolean isTaken(Entry entry, boolean isReadable, boolean isNoted, BiConsumer<Id, StoreResult> whenDone) {
        if (isClosed) {
            countUndone(isNoted);
            return true;
        }
        boolean hasRoom = bytesInMemory + entry.binaries().byteSize() <= MEMORY_BYTES || queue.isEmpty();
        Waiting same = underWay.get(entry.id());
        if (same == null && !hasRoom && !isReadable) {
            counters.dropped.increment();
            return false;
        }
        Waiting waiting = same == null ? enqueue(entry.id()) : same;
        waiting.listeners.add(whenDone);
        waiting.isNoted |= isNoted;
        if (hasRoom && waiting.entry == null && !waiting.isBegun) {
            waiting.entry = entry;
            waiting.bytes = entry.binaries().byteSize();
            bytesInMemory += waiting.bytes;
        }
        return true;
    }

    /** Uploads what another process left; the entry is in the local tier, if anywhere. */
    synchronized void addInherited(Id id) {
        counters.adopted.increment();
        Waiting waiting = underWay.containsKey(id) ? underWay.get(id) : enqueue(id); // several processes may have left it
        waiting.isNoted = true;
    }

    /** Called with the lock held. */
    private Waiting enqueue(Id id) {
        Waiting waiting = new Waiting(id);
        underWay.put(id, waiting);
        queue.add(waiting);
        startWorker();
        return waiting;
    }

    /** Has the sender send what it keeps, where that is all that is left to be done; called with the lock held. */
    private void finishKept() {
        if (queue.isEmpty() && workersAtWork == 0 && !underWay.isEmpty() && !isFinishing) {
            isFinishing = true;
            List<Waiting> kept = List.copyOf(underWay.values());
            workers.execute(() -> finish(kept));
        }
    }

    /** Nothing of {@code kept} is without an answer afterwards, whatever becomes of the sender: flush would wait for it for ever. */
    private void finish(List<Waiting> kept) {
        String cause = "it was sent, and nobody answered";
        try {
            sender.finish();
        } catch (Throwable e) {
            LogOnce.warn("upload", "An upload failed: " + e);
            cause = e.toString();
        } finally {
            for (Waiting one : kept) {
                answer(one, new StoreResult.Failed(cause)); // which changes nothing where it has its answer
            }
            synchronized (this) {
                isFinishing = false;
                notifyAll();
            }
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

    /** True when nothing waits and nothing is under way; called with the lock held. */
    private boolean isIdle() {
        return underWay.isEmpty() && workersAtWork == 0 && telling == 0;
    }

    /** Stops; what was not uploaded stays in the outbox. What is under way counts as left, even if its answer still comes. */
    @Override
    public synchronized void close() {
        if (!isClosed) {
            isClosed = true;
            underWay.values().forEach(waiting -> countUndone(waiting.isNoted));
            underWay.values().removeIf(waiting -> !waiting.isBegun);
            queue.clear();
            workers.shutdownNow();
            sender.close();
            notifyAll();
        }
    }

    private void countUndone(boolean isNoted) {
        (isNoted ? counters.leftForLater : counters.dropped).increment();
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
                next.isBegun = true;
                bytesInMemory -= next.bytes;
            }
            try {
                upload(next);
            } catch (Throwable e) { // a store that breaks its contract, or an error: this worker goes on, and the listeners hear of it
                LogOnce.warn("upload", "An upload failed: " + e);
                answer(next, new StoreResult.Failed(e.toString()));
            } finally {
                use(next, null); // a sender that keeps it has it in a form of its own
            }
        }
    }

    private synchronized void use(Waiting waiting, @Nullable Entry entry) {
        waiting.entry = entry;
    }

    private synchronized @Nullable Entry entryOf(Waiting waiting) {
        return waiting.entry;
    }

    private void upload(Waiting next) {
        Entry inMemory = entryOf(next);
        if (inMemory != null) {
            sender.send(inMemory, result -> answer(next, result));
            return;
        }
        switch (local.cache().load(next.id)) {
            case LoadResult.Hit hit -> {
                use(next, hit.entry());
                sender.send(hit.entry(), result -> answer(next, result));
            }
            case LoadResult.Absent _, LoadResult.Damaged _ -> {
                counters.dropped.increment();
                answer(next, new StoreResult.Refused("it left the local tier before it was uploaded"), true);
            }
            case LoadResult.Unavailable lost -> answer(next, new StoreResult.Failed(lost.cause()));
        }
    }

    private void answer(Waiting done, StoreResult result) {
        answer(done, result, switch (result) {
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ -> true;
            case StoreResult.Refused _ -> isUnstorable(entryOf(done));
            case StoreResult.Failed _, StoreResult.Unknown _ -> false;
        });
    }

    /** True for what no bucket could take, with any rights. An entry that is not in memory any more was encoded before. */
    private static boolean isUnstorable(@Nullable Entry entry) {
        try {
            return entry != null && EntryFormat.encodeParts(entry, Compression.NONE, WriteAttemptId.NONE).isEmpty();
        } catch (IllegalArgumentException e) {
            return true;
        }
    }

    /** Tells everybody; only the first answer counts. */
    private void answer(Waiting done, StoreResult result, boolean isSettled) {
        List<BiConsumer<Id, StoreResult>> listeners;
        synchronized (noting) {
            synchronized (this) {
                if (underWay.get(done.id) != done || !done.isBegun) {
                    return;
                }
                underWay.remove(done.id);
                telling++;
                listeners = List.copyOf(done.listeners);
                if (!isSettled && !isClosed) { // else it was counted when that happened
                    countUndone(done.isNoted);
                }
            }
            if (isSettled) {
                forget(done);
            }
        }
        listeners.forEach(listener -> tell(listener, done.id, result));
        synchronized (this) {
            telling--;
            notifyAll();
        }
    }

    private static void tell(BiConsumer<Id, StoreResult> listener, Id id, StoreResult result) {
        try {
            listener.accept(id, result);
        } catch (Throwable e) {
            LogOnce.warn("listener", "The listener for published entries failed: " + e);
        }
    }

    private boolean note(Id id) {
        try {
            if (outbox.isPresent()) {
                outbox.get().add(id);
            }
            return outbox.isPresent();
        } catch (IOException e) {
            LogOnce.warn("outbox", "The outbox cannot be written, so uploads do not survive this process: " + e);
            return false;
        }
    }

    private void forget(Waiting done) {
        try {
            if (done.isNoted && outbox.isPresent()) {
                outbox.get().remove(done.id);
            }
        } catch (IOException e) {
            LogOnce.warn("outbox", "The outbox cannot be written; an entry will be uploaded again: " + e);
        }
    }
}
