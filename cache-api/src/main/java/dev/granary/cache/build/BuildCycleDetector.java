package dev.granary.cache.build;

import java.util.HashMap;
import java.util.Map;

/**
 * The graph of threads that wait for builds of other threads, by which a circle is an error and not a deadlock. One for the process: a
 * build in one cache may need a value of another cache, of primitives or of constants. Thread-safe.
 */
public final class BuildCycleDetector {
    /** The graph of this process. */
    public static final BuildCycleDetector PROCESS = new BuildCycleDetector();

    // By the thread's id, which is never used twice. A HashMap stays whole where an error ends a call of it in the middle.
    private final Map<Long, PendingBuild> waits = new HashMap<>();

    private BuildCycleDetector() {}

    /**
     * Notes that this thread waits for a build from now on, until {@link #leave}, which is to be called even if this fails.
     *
     * @throws IllegalStateException if the build waits for this thread, directly or through other builds
     */
    public synchronized void enter(PendingBuild build) {
        Thread me = Thread.currentThread();
        PendingBuild next = build;
        Thread builder = build.builder();
        while (next != null && builder != null) {
            if (builder == me) {
                throw new IllegalStateException("Building this key needs the key itself");
            }
            next = waits.get(builder.threadId());
            builder = next == null ? null : next.builder();
        }
        waits.put(me.threadId(), build);
    }

    /** Notes that this thread does not wait any more. */
    public synchronized void leave() {
        waits.remove(Thread.currentThread().threadId());
    }

    /** The number of threads that wait. */
    public synchronized int waiting() {
        return waits.size();
    }
}
