package dev.granary.cache.memory;

import java.util.IdentityHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Knows which thread waits for which build, so that a circle of builds is an error and not a deadlock. One for the process: a build in one
 * cache may need a value of another cache.
 */
final class BuildGraph {
    static final BuildGraph PROCESS = new BuildGraph();

    private final IdentityHashMap<Thread, Flight<?>> waits = new IdentityHashMap<>();

    private BuildGraph() {}

    /**
     * Waits for another thread's build. An interrupt does not end the wait, which is bounded by the build; the thread's interrupt status is
     * kept.
     */
    <V> V await(Flight<V> flight) {
        enter(flight);
        try {
            awaitUninterruptibly(flight);
        } finally {
            leave();
        }
        V value = flight.value();
        if (value != null) {
            return value;
        }
        Throwable failure = flight.failure();
        throw BuildGraph.<RuntimeException>unchecked(failure == null ? new IllegalStateException("A build ended without a result") : failure);
    }

    /** How many threads wait. */
    synchronized int waiting() {
        return waits.size();
    }

    private synchronized void enter(Flight<?> flight) {
        Thread me = Thread.currentThread();
        Flight<?> next = flight;
        Thread builder = flight.builder();
        while (next != null && builder != null) {
            if (builder == me) {
                throw new IllegalStateException("Building this key needs the key itself");
            }
            next = waits.get(builder);
            builder = next == null ? null : next.builder();
        }
        waits.put(me, flight);
    }

    private synchronized void leave() {
        waits.remove(Thread.currentThread());
    }

    private static void awaitUninterruptibly(Flight<?> flight) {
        boolean interrupted = false;
        while (true) {
            try {
                flight.await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** The builder's failure as it is: callers of one key share one kind of builder, so its checked type is theirs. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> T unchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
