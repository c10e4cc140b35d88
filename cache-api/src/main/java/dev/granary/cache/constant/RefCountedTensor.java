package dev.granary.cache.constant;

import dev.granary.cache.build.StackReserve;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One tensor that was made, owned by everybody who holds it: each user and, while it is cached, the cache. Freed by the last. */
final class RefCountedTensor<B extends AutoCloseable> {
    private static final System.Logger LOG = System.getLogger("dev.granary");

    private final B buffer;
    private final AtomicInteger owners;
    private volatile boolean isCached;
    private @Nullable List<Listener> listeners; // guarded by this; null where there are none

    private record Listener(ConstantHold<?> constant, Runnable action) {}

    /** Takes over {@code buffer}, for one owner so far. */
    RefCountedTensor(B buffer) {
        this.buffer = buffer;
        this.owners = new AtomicInteger(1);
    }

    /**
     * Shares it, before others see it.
     *
     * @param users how many will {@link #handOver}
     */
    void share(int users, boolean cached) {
        isCached = cached;
        owners.set(users + (cached ? 1 : 0));
    }

    B buffer() {
        return buffer;
    }

    boolean isCached() {
        return isCached;
    }

    /** The hold of a user who was counted from the start. */
    ConstantHold<B> handOver() {
        return new ConstantHold<>(this);
    }

    /** The hold of one more user; null where the tensor has left the cache and was freed. */
    @Nullable ConstantHold<B> open() {
        ConstantHold<B> constant = new ConstantHold<>(this); // before it counts, since this may fail
        while (true) {
            int known = owners.get();
            if (known == 0) {
                return null;
            }
            if (owners.compareAndSet(known, known + 1)) {
                return constant;
            }
        }
    }

    /** One owner lets go. */
    void release() {
        if (owners.get() == 1) {
            StackReserve.requireLittle(); // it is freed once: not halfway
        }
        if (owners.decrementAndGet() == 0) {
            free(buffer);
        }
    }

    static void free(AutoCloseable memory) {
        guarded("The memory of a constant tensor could not be freed", memory::close);
    }

    /** The cache has it no more; its users are told by {@link #leave}. */
    void uncache() {
        isCached = false;
    }

    /** Tells the users, and gives up the hold of the cache. Without any lock held, since it runs what others wrote. */
    void leave() {
        List<Listener> told;
        synchronized (this) {
            told = listeners == null ? List.of() : listeners;
            listeners = null;
        }
        told.forEach(listener -> tell(listener.action()));
        release();
    }

    /** Runs a user's callback. */
    static void tell(Runnable action) {
        guarded("The callback of an evicted constant tensor failed", action::run);
    }

    /** Keeps {@code action} for {@link #leave}; false where the tensor is not cached, so that nobody will run it. */
    synchronized boolean listen(ConstantHold<?> constant, Runnable action) {
        if (!isCached) {
            return false;
        }
        List<Listener> known = listeners == null ? new ArrayList<>(1) : listeners;
        known.add(new Listener(constant, action));
        listeners = known;
        return true;
    }

    /** Forgets what {@code constant} asked for. */
    synchronized void forget(ConstantHold<?> constant) {
        if (listeners != null) {
            listeners.removeIf(listener -> listener.constant() == constant);
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    /** What fails here is not the fault of whoever happens to run it. */
    @SuppressWarnings("CatchingUnchecked")
    private static void guarded(String complaint, Step step) {
        try {
            step.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            LOG.log(System.Logger.Level.WARNING, complaint, e);
        } catch (Throwable e) {
            LOG.log(System.Logger.Level.WARNING, complaint, e);
        }
    }
}
