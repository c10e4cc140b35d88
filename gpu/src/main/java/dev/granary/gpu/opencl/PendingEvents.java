package dev.granary.gpu.opencl;

import dev.granary.gpu.opencl.binding.QueueCalls;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * The commands of one engine's queue that have not ended, with a thread that finishes each after
 * its end. Thread-safe.
 *
 * <p>The thread runs only while there are commands. In a queue that keeps their order it waits in
 * the driver for the oldest one. In another queue it asks for the status of all, at least once a
 * millisecond. It does not use the driver's callbacks: PoCL 3.1 does not call them for a command
 * that failed.
 */
final class PendingEvents {
    private static final Logger LOG = LoggerFactory.getLogger(PendingEvents.class);

    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long MIN_PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(20);
    private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final EngineQueue queue;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition isAdded = lock.newCondition();
    // guarded by lock; in the queue's order
    private final Set<OpenClEvent> events = new LinkedHashSet<>();
    private @Nullable Thread watcher; // guarded by lock

    PendingEvents(EngineQueue queue) {
        this.queue = queue;
    }

    /** Returns the native calls for the events. */
    QueueCalls calls() {
        return queue.binding().queues();
    }

    long context() {
        return queue.context();
    }

    /**
     * Enqueues a command. Requires an engine lease.
     *
     * @param event the new event of the command
     * @param enqueue enqueues the command and returns its native event
     */
    void enqueue(OpenClEvent event, LongSupplier enqueue) {
        lock.lock();
        try {
            startWatcher();
            // with the lock, so that the order is the queue's
            events.add(event);
            try {
                event.enqueued(enqueue.getAsLong());
            } catch (RuntimeException | Error e) {
                events.remove(event);
                throw e;
            }
            isAdded.signal();
        } finally {
            lock.unlock();
        }
        try {
            calls().flush(queue.handle()); // otherwise it might wait in the driver for further
            // commands
        } catch (OpenClException e) {
            LOG.warn("{}: {}", event, e.getMessage()); // it is enqueued; its status has the outcome
        }
    }

    /** Removes a finished event. */
    void remove(OpenClEvent event) {
        lock.lock();
        try {
            events.remove(event);
        } finally {
            lock.unlock();
        }
    }

    /** Waits for all commands and finishes them. Requires that none is added meanwhile. */
    void finishAll() {
        for (OpenClEvent event : snapshot()) {
            event.awaitEnd();
            event.finish();
        }
    }

    private List<OpenClEvent> snapshot() {
        lock.lock();
        try {
            return new ArrayList<>(events);
        } finally {
            lock.unlock();
        }
    }

    private void startWatcher() {
        if (watcher == null) {
            watcher = Thread.ofPlatform().daemon().name("granary-events").start(this::watch);
        }
    }

    private void watch() {
        long pause = MIN_PAUSE_NANOS;
        for (List<OpenClEvent> waiting = nextOrEnd(); !waiting.isEmpty(); waiting = nextOrEnd()) {
            try {
                if (queue.isInOrder()) {
                    waiting.getFirst().awaitEnd();
                    waiting.getFirst().finish();
                } else if (finishEnded(waiting)) {
                    pause = MIN_PAUSE_NANOS;
                } else {
                    LockSupport.parkNanos(pause);
                    pause = Math.min(2 * pause, MAX_PAUSE_NANOS);
                }
            } catch (RuntimeException | Error e) { // others depend on this thread
                LOG.warn("A command could not be finished", e);
                LockSupport.parkNanos(MAX_PAUSE_NANOS);
            }
        }
    }

    private static boolean finishEnded(List<OpenClEvent> waiting) {
        List<OpenClEvent> ended = waiting.stream().filter(OpenClEvent::hasEnded).toList();
        ended.forEach(OpenClEvent::finish);
        return !ended.isEmpty();
    }

    /** Returns the events to wait for; none if there was no command for a second. */
    private List<OpenClEvent> nextOrEnd() {
        lock.lock();
        try {
            long left = IDLE_NANOS;
            while (events.isEmpty() && left > 0) {
                try {
                    left = isAdded.awaitNanos(left);
                } catch (InterruptedException e) { // not expected
                    LOG.debug("The wait for commands was interrupted", e);
                }
            }
            if (events.isEmpty()) {
                watcher = null; // the next command starts another one
            }
            return queue.isInOrder() ? events.stream().limit(1).toList() : new ArrayList<>(events);
        } finally {
            lock.unlock();
        }
    }
}
