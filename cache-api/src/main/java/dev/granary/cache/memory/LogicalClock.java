package dev.granary.cache.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The logical time of one cache. Each timekeeper counts its own uses; the one whose turn it is has the latest time of all, and who takes the
 * turn goes on from there. So a thread that uses the cache alone writes nothing that others read, and its uses are in order with all that
 * was before its turn.
 */
final class LogicalClock {
    private static final VarHandle TURN = turn();

    private volatile Timekeeper turn = new Moment(0);

    /** Something that has a time. */
    interface Timekeeper {
        long time();

        /** It is no more its turn. May come late, when it has taken the turn again; then it has to do so once more. */
        void lose();
    }

    /** A time that stands still. */
    private record Moment(long time) implements Timekeeper {
        @Override
        public void lose() {}
    }

    private static VarHandle turn() {
        try {
            return MethodHandles.lookup().findVarHandle(LogicalClock.class, "turn", Timekeeper.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Whose turn it is. */
    Timekeeper current() {
        return turn;
    }

    /** Gives the turn to {@code next}, whose time is later than that of {@code former}; false where it is no more the turn of {@code former}. */
    boolean pass(Timekeeper former, Timekeeper next) {
        if (!TURN.compareAndSet(this, former, next)) {
            return false;
        }
        if (former != next) {
            former.lose();
        }
        return true;
    }

    /** From now on it is later than {@code time}. */
    void passed(long time) {
        Timekeeper former = (Timekeeper) TURN.getAndSet(this, new Moment(time));
        former.lose();
    }
}
