package dev.granary.cache.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The logical clock of one cache. Each timekeeper counts its own uses. The timekeeper that holds
 * the turn has the latest time, and the next holder continues from it. A thread that uses the cache
 * alone thus writes no shared memory, and its uses are ordered after all those before its turn.
 */
final class LogicalClock {
    private static final VarHandle TURN = turn();

    private volatile Timekeeper turn = new Moment(0);

    /** A holder of a time. */
    interface Timekeeper {
        long time();

        /**
         * Notifies this timekeeper that it lost the turn. The call may come late, after it has
         * taken the turn again; then it must take it once more.
         */
        void turnLost();
    }

    /** A constant time. */
    private record Moment(long time) implements Timekeeper {
        @Override
        public void turnLost() {}
    }

    private static VarHandle turn() {
        try {
            return MethodHandles.lookup()
                    .findVarHandle(LogicalClock.class, "turn", Timekeeper.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Returns the holder of the turn. */
    Timekeeper current() {
        return turn;
    }

    /**
     * Passes the turn to {@code next}, whose time is later than that of {@code previous}.
     *
     * @return false if {@code previous} no longer holds the turn
     */
    boolean pass(Timekeeper previous, Timekeeper next) {
        if (!TURN.compareAndSet(this, previous, next)) {
            return false;
        }
        if (previous != next) {
            previous.turnLost();
        }
        return true;
    }

    /** Advances the clock to {@code time}, which is later than all recorded times. */
    void advance(long time) {
        Timekeeper previous = (Timekeeper) TURN.getAndSet(this, new Moment(time));
        previous.turnLost();
    }
}
