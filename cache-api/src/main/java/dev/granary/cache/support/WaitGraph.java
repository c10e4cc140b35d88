package dev.granary.cache.support;

import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.Map;

/**
 * The graph of threads that wait for builds of other threads, which makes a cycle an error instead
 * of a deadlock. One instance serves the process, because a build in one cache may need a value of
 * another, such as a primitive or a constant. Thread-safe.
 */
public final class WaitGraph {
    /** The graph of this process. */
    public static final WaitGraph PROCESS = new WaitGraph();

    // Keyed by thread id, which is never reused.
    private final Map<Long, Build> waits = new HashMap<>();

    private WaitGraph() {}

    /** A build of a value by one thread while others may wait for it. */
    public interface Build {
        /**
         * Returns the thread that builds the value, or null once there is a value or a failure. May
         * be called by any thread.
         */
        @Nullable
        Thread builder();
    }

    /**
     * Records that this thread waits for a build. The wait lasts until {@link #leave}, which must
     * be called even if this method throws.
     *
     * @throws IllegalStateException if the build waits for this thread, directly or through other
     *     builds
     */
    public synchronized void enter(Build build) {
        Thread current = Thread.currentThread();
        Build next = build;
        Thread builder = build.builder();
        while (next != null && builder != null) {
            if (builder == current) {
                throw new IllegalStateException("The build of this key needs the key itself");
            }
            next = waits.get(builder.threadId());
            builder = next == null ? null : next.builder();
        }
        waits.put(current.threadId(), build);
    }

    /** Records that this thread no longer waits. */
    public synchronized void leave() {
        waits.remove(Thread.currentThread().threadId());
    }

    /** Returns the number of waiting threads. */
    public synchronized int waiting() {
        return waits.size();
    }

    /**
     * Rethrows the failure of a build unchanged in a thread that has waited for it: callers of one
     * key use one kind of builder, so its checked type is theirs.
     */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    public static <T extends Throwable> T unchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
