package dev.granary.cache.support;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads that do not keep the process alive: a cache must not. */
public final class DaemonThreads {
    private DaemonThreads() {}

    /** A factory for daemon threads called {@code name-1}, {@code name-2}, ... */
    public static ThreadFactory named(String name) {
        AtomicInteger count = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, name + "-" + count.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
