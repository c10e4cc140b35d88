package dev.granary.cache.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.util.Arrays;

/**
 * The access record of one thread: its number of hits and the time of the last use of each value.
 * Only the owner writes, to its own array. A use costs neither an atomic operation nor a cache line
 * written by another thread. Other threads may read at any time, and see all uses ordered before.
 */
final class AccessStripe implements LogicalClock.Timekeeper {
    /**
     * The number of hits after which a thread that has used up its turns gets another. Taking a
     * turn costs about as much as ten hits, for all threads.
     */
    static final int HITS_PER_TURN = 1024;

    /**
     * The number of turns a thread may take in a burst, and again after each value that it adds.
     */
    static final int TURNS_PER_BURST = 64;

    private static final int PADDING = 16; // two cache lines of longs, against false sharing
    private static final int OWNER = PADDING; // the thread's id; ids are never reused
    private static final int TURN = PADDING + 1; // equals the owner while the turn is its own
    private static final int TIME = PADDING + 2; // of the last use; each hit is one tick
    private static final int SKIPPED = PADDING + 3; // ticks that are no hits, or UPDATING
    private static final int NEXT_TURN = PADDING + 4; // the earliest time to take the turn
    private static final int LAST_USES = PADDING + 5;
    private static final int INITIAL_VALUES = 64;
    private static final long NO_OWNER = -1; // not a thread id
    private static final long UPDATING = -1;
    private static final long BURST_HITS = (long) HITS_PER_TURN * TURNS_PER_BURST;

    private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);
    private static final long[] UNOWNED = unowned(); // never written

    // the arrays of all stripes, which saves a hit one indirection
    private final long[][] table;
    private final int index;
    private final WeakReference<Thread> thread;
    private volatile long[] cells;
    // uses up to this time belong to other values; guarded by the eviction lock
    private long floor;

    /** Creates a stripe without an owner. */
    AccessStripe(long[][] table, int index) {
        this.table = table;
        this.index = index;
        this.thread = new WeakReference<>(null);
        this.cells = UNOWNED;
        table[index] = cells;
    }

    /** Creates a stripe for this thread, which continues that of a terminated thread. */
    AccessStripe(AccessStripe predecessor) {
        Thread owner = Thread.currentThread();
        this.table = predecessor.table;
        this.index = predecessor.index;
        this.thread = new WeakReference<>(owner);
        this.cells = predecessor.cells == UNOWNED
                ? new long[LAST_USES + INITIAL_VALUES + PADDING]
                : predecessor.cells;
        this.floor = predecessor.floor;
        cells[NEXT_TURN] = cells[TIME] - BURST_HITS;
        cells[TURN] = NO_OWNER;
        cells[OWNER] = owner.threadId();
        table[index] = cells;
    }

    private static long[] unowned() {
        long[] cells = new long[LAST_USES];
        cells[OWNER] = NO_OWNER;
        cells[TURN] = NO_OWNER;
        return cells;
    }

    /**
     * Returns the cells to pass to {@link #record} for the thread with {@code id}, if its stripe is
     * at its first index.
     */
    static long[] cellsOf(long[][] cells, long id) {
        return cells[(int) id & (cells.length - 1)];
    }

    /**
     * Records a use of the value with {@code number} by the thread with {@code id}: all of a
     * typical hit.
     *
     * @return false, without any effect, if that thread must call {@link #recordUse} or
     *     {@link #countHit} instead
     */
    static boolean record(long[] cells, long id, int number) {
        int at = LAST_USES + number;
        if (at >= cells.length
                || (cells[TURN] != id && (cells[OWNER] != id || cells[TIME] >= cells[NEXT_TURN]))) {
            return false;
        }
        long now = cells[TIME] + 1;
        cells[TIME] = now;
        cells[at] = now;
        return true;
    }

    boolean isOwnedBy(long id) {
        return cells[OWNER] == id;
    }

    /** Returns true if no thread will write to this stripe. */
    boolean isAbandoned() {
        Thread writer = thread.get();
        return writer == null || !writer.isAlive();
    }

    /** Counts a hit. Owner only. */
    void countHit() {
        cells[TIME]++;
    }

    /** Records a use of the value with {@code number} and counts it as a hit. Owner only. */
    void recordUse(int number, LogicalClock clock) {
        int at = LAST_USES + number;
        if (at >= cells.length) {
            grow(at);
        }
        long[] own = cells;
        if (own[TURN] != own[OWNER] && own[TIME] >= own[NEXT_TURN]) {
            takeTurn(own, clock);
        }
        long now = own[TIME] + 1;
        own[TIME] = now;
        own[at] = now;
    }

    /** Permits a burst of turns again. Owner only. */
    void permitTurns() {
        long[] own = cells;
        own[NEXT_TURN] = Math.min(own[NEXT_TURN], own[TIME] - BURST_HITS);
    }

    @Override
    public void turnLost() {
        cells[TURN] = NO_OWNER;
    }

    @Override
    public long time() {
        return cells[TIME];
    }

    /** Returns the number of hits counted here. Any thread may call it. */
    long hits() {
        long[] current = cells;
        while (true) {
            long skipped = (long) CELL.getAcquire(current, SKIPPED);
            long now = (long) CELL.getAcquire(current, TIME);
            if (skipped != UPDATING && skipped == (long) CELL.getOpaque(current, SKIPPED)) {
                return now - skipped;
            }
            Thread.onSpinWait();
        }
    }

    /**
     * Returns the time of the last use of the value with {@code number} in this stripe, or 0 if
     * there is none.
     */
    long lastUse(int number) {
        long[] current = cells;
        int at = LAST_USES + number;
        long lastUse = at < current.length ? current[at] : 0;
        return lastUse > floor ? lastUse : 0;
    }

    /** Discards the recorded uses. Guarded by the eviction lock. */
    void discardUses() {
        floor = time();
    }

    /** Takes the turn, so that the next use follows the time of its previous holder. */
    private void takeTurn(long[] own, LogicalClock clock) {
        own[NEXT_TURN] = Math.max(own[NEXT_TURN], own[TIME] - BURST_HITS) + HITS_PER_TURN;
        LogicalClock.Timekeeper previous;
        try {
            do {
                previous = clock.current();
                // Before the turn is taken, so that its next holder continues from here.
                skip(own, Math.max(0, previous.time() - own[TIME]) + 1);
                own[TURN] = own[OWNER];
            } while (!clock.pass(previous, this));
        } catch (Throwable e) { // such as a StackOverflowError: the turn was not taken
            own[TURN] = NO_OWNER;
            throw e;
        }
    }

    /**
     * Advances the time without hits. A seqlock with one writer: {@link #hits} reads both fields
     * consistently.
     */
    private static void skip(long[] own, long ticks) {
        long skipped = own[SKIPPED] + ticks;
        long time = own[TIME] + ticks;
        long turn = own[NEXT_TURN] + ticks;
        try {
            CELL.setOpaque(own, SKIPPED, UPDATING);
            VarHandle.storeStoreFence();
            own[TIME] = time;
            own[NEXT_TURN] = turn;
            CELL.setRelease(own, SKIPPED, skipped);
        } catch (Throwable e) { // no calls, the stack may be exhausted; readers must not spin
            own[TIME] = time;
            own[NEXT_TURN] = turn;
            own[SKIPPED] = skipped;
            throw e;
        }
    }

    private void grow(int at) {
        long[] more = Arrays.copyOf(cells, Math.max(2 * cells.length, at + 1 + PADDING));
        more[TURN] = NO_OWNER; // the turn may be lost meanwhile
        cells = more;
        table[index] = more;
    }
}
