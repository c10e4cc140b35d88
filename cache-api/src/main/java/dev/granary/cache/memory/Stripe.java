package dev.granary.cache.memory;

import java.lang.ref.WeakReference;
import java.util.Arrays;

/**
 * What one thread notes: how often it used a cache, and which value at what time. Only that thread writes, to memory of its own, so a use costs
 * neither an atomic operation nor a cache line that another thread has. Others read at any time, and see all uses that are ordered before.
 */
final class Stripe implements RecencyClock.Timekeeper {
    /** A thread that has spent its turns gets one more after so many uses: a turn costs as much as some ten uses, for all threads. */
    static final int USES_PER_TURN = 1024;

    /** How many turns a thread may take at once, and after each value that it adds. */
    static final int TURNS_AT_ONCE = 64;

    private static final int APART = 16; // two cache lines of longs, between what is written here and what others write
    private static final int TIME = APART;
    private static final int HITS = APART + 1;
    private static final int STAMPS = APART + 2;
    private static final int FIRST_STAMPS = 64;
    private static final long BURST = (long) USES_PER_TURN * TURNS_AT_ONCE;

    final long owner; // the thread's id: ids are never used twice
    private final WeakReference<Thread> thread;
    private volatile long[] cells;
    private long nextTurn = -BURST; // not before so many hits
    private long floor; // what was noted up to this time belongs to other values; under the lock of who evicts

    /** A stripe of nobody. */
    Stripe() {
        this.owner = -1;
        this.thread = new WeakReference<>(null);
        this.cells = new long[STAMPS];
    }

    /** A stripe for a thread that goes on where another one, which has ended, left off. */
    Stripe(Thread thread, Stripe predecessor) {
        this.owner = thread.threadId();
        this.thread = new WeakReference<>(thread);
        long[] notes = predecessor.cells;
        this.cells = notes.length > STAMPS ? notes : new long[STAMPS + FIRST_STAMPS + APART];
        this.floor = predecessor.floor;
        this.nextTurn = notes[HITS] - BURST;
    }

    /** True where no thread will write here any more. */
    boolean isAbandoned() {
        Thread writer = thread.get();
        return writer == null || !writer.isAlive();
    }

    /** Counts a hit. For the owner. */
    void count() {
        cells[HITS]++;
    }

    /** Notes a use of the value at {@code index}, and counts it as a hit. For the owner. */
    void use(int index, RecencyClock clock) {
        long[] notes = cells;
        long now = clock.isTurnOf(this) ? notes[TIME] + 1 : inTurn(notes, clock);
        notes[TIME] = now;
        notes[HITS]++;
        int at = STAMPS + index;
        if (at < notes.length) {
            notes[at] = now;
        } else {
            grown(at)[at] = now;
        }
    }

    /** Allows turns again at once. For the owner. */
    void refresh() {
        nextTurn = Math.min(nextTurn, cells[HITS] - BURST);
    }

    @Override
    public long time() {
        return cells[TIME];
    }

    long hits() {
        return cells[HITS];
    }

    /** When the value at {@code index} was last used here; 0 for never. */
    long stamp(int index) {
        long[] notes = cells;
        int at = STAMPS + index;
        long stamp = at < notes.length ? notes[at] : 0;
        return stamp > floor ? stamp : 0;
    }

    /** Forgets all that was noted so far. Under the lock of who evicts. */
    void forget() {
        floor = time();
    }

    /** The time of the next use while it is another's turn: with a turn, if one is allowed, else by the own count. */
    private long inTurn(long[] notes, RecencyClock clock) {
        long hits = notes[HITS];
        if (hits < nextTurn) {
            return notes[TIME] + 1;
        }
        nextTurn = Math.max(nextTurn, hits - BURST) + USES_PER_TURN;
        while (true) {
            RecencyClock.Timekeeper former = clock.current();
            long now = Math.max(notes[TIME], former.time()) + 1;
            notes[TIME] = now; // before it is this one's turn, so that the next goes on from here
            if (clock.pass(former, this)) {
                return now;
            }
        }
    }

    private long[] grown(int at) {
        long[] more = Arrays.copyOf(cells, Math.max(2 * cells.length, at + 1 + APART));
        cells = more;
        return more;
    }
}
