package dev.granary.cache.support;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** A factory of daemon threads: a cache must not keep the process alive. */
public final class DaemonThreads {
    private DaemonThreads() {}

    /** Returns a factory of daemon threads named {@code name-1}, {@code name-2}, ... */
    public static ThreadFactory named(String name) {
        AtomicInteger count = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, name + "-" + count.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
