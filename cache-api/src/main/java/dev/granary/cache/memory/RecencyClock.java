package dev.granary.cache.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** A logical clock for recency: advances at each touch, without atomic operations, so that a hit stays as cheap as a map look-up. */
final class RecencyClock {
    private static final VarHandle NOW;

    static {
        try {
            NOW = MethodHandles.lookup().findVarHandle(RecencyClock.class, "now", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("unused") // through NOW
    private long now;

    long now() {
        return (long) NOW.getOpaque(this);
    }

    long advance() {
        long next = now() + 1;
        NOW.setOpaque(this, next);
        return next;
    }
}
