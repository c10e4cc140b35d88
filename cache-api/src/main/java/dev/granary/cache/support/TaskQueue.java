package dev.granary.cache.support;

import dev.granary.cache.Deadline;

import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Bounded queue of tasks with daemon threads of its own, and a wait until none is left. A task may
 * not throw. Thread-safe.
 */
public final class TaskQueue implements AutoCloseable {
    private static final long IDLE_SECONDS = 10;

    private final ThreadPoolExecutor executor;
    private int open; // guarded by this: tasks, and other work that a wait is to include

    /**
     * Creates a queue of {@code capacity} waiting tasks for {@code threads}, which start with the
     * first tasks, and end if they are idle.
     */
    public TaskQueue(String name, int threads, int capacity) {
        this.executor = new ThreadPoolExecutor(
                threads,
                threads,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(capacity),
                DaemonThreads.named(name));
        executor.allowCoreThreadTimeOut(true);
    }

    /** An action of a caller, which ends as a task. */
    private record Task(TaskQueue queue, Runnable action) implements Runnable {
        @Override
        public void run() {
            try {
                action.run();
            } finally {
                queue.end();
            }
        }
    }

    /**
     * Runs {@code action} in the background.
     *
     * @return false if it will not run: the queue is full or closed, or the system has no thread
     */
    public boolean submit(Runnable action) {
        Task task = new Task(this, action);
        begin();
        try {
            executor.execute(task);
            return true;
        } catch (Throwable e) { // rejected, or out of memory for the thread
            if (e instanceof Error) {
                executor.remove(task); // it may have been queued before the thread was missing
            }
            end();
            return false;
        }
    }

    /** Begins work of the caller that {@link #awaitIdle} waits for, until {@link #end}. */
    public synchronized void begin() {
        open++;
    }

    /** Ends a task, or work of the caller. */
    public synchronized void end() {
        open--;
        if (open == 0) {
            notifyAll();
        }
    }

    /** Returns the number of tasks that are queued or run. */
    public synchronized int size() {
        return open;
    }

    /**
     * Waits until no task is queued or runs, until the queue is closed, or until the deadline.
     *
     * @return true if no task is queued or runs
     */
    public synchronized boolean awaitIdle(Deadline deadline) throws InterruptedException {
        while (open > 0 && !executor.isShutdown()) {
            if (deadline.isOver()) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, deadline.left());
        }
        return open == 0;
    }

    /** Closes the queue, interrupts running tasks, and returns those that will not run. */
    public List<Runnable> drain() {
        List<Runnable> unstarted = executor.shutdownNow();
        synchronized (this) {
            open -= unstarted.size();
            notifyAll();
        }
        return unstarted.stream().map(task -> ((Task) task).action).toList();
    }

    /** Closes the queue; queued tasks still run. */
    @Override
    public void close() {
        executor.shutdown();
    }
}
