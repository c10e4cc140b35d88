package dev.granary.cache.support;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A factory of daemon threads, and of pools of them: a cache must not keep the process alive. */
public final class DaemonThreads {
    private DaemonThreads() {}

    /** Returns a factory of daemon threads named {@code name-1}, {@code name-2}, ... */
    public static ThreadFactory named(String name) {
        AtomicInteger count = new AtomicInteger();
        return task -> { // a thread builder that counts takes a new process 10 to 20 ms
            Thread thread = new Thread(task, name + "-" + count.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }

    /**
     * Returns a pool that runs a task in the thread that became idle last, and creates a thread
     * only if none is idle. So tasks that follow each other have one thread, whose stack and
     * buffers are in the caches of the processor. The threads have the context class loader of the
     * thread that creates the pool.
     *
     * @param maxThreads the number of tasks that run at once; more are queued
     * @param idleTime the time after which an idle thread ends
     */
    public static ExecutorService pool(String name, int maxThreads, Duration idleTime) {
        AtomicInteger count = new AtomicInteger();
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        return new ForkJoinPool(
                maxThreads,
                pool -> {
                    var thread = ForkJoinPool.defaultForkJoinWorkerThreadFactory.newThread(pool);
                    thread.setContextClassLoader(loader);
                    thread.setName(name + "-" + count.incrementAndGet());
                    return thread;
                },
                null,
                true, // in the order of submission
                0,
                maxThreads,
                0, // a task that waits needs no further thread: all are independent
                _ -> true,
                idleTime.toNanos(),
                TimeUnit.NANOSECONDS);
    }
}
