package dev.granary.cache.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.util.Arrays;

/**
 * What one thread notes: how often it used a cache, and which value at what time. Only that thread writes, to an array of its own, so a use costs
 * neither an atomic operation nor a cache line that another thread writes. Others read at any time, and see all uses that are ordered before.
 */
final class AccessStripe implements LogicalClock.Timekeeper {
    /** A thread that has spent its turns gets one more after so many hits: taking a turn costs as much as some ten hits, for all threads. */
    static final int HITS_PER_TURN = 1024;

    /** How many turns a thread may take at once, and after each value that it adds. */
    static final int TURNS_AT_ONCE = 64;

    private static final int APART = 16; // two cache lines of longs, between what is written here and what others write
    private static final int OWNER = APART; // the thread's id: ids are never used twice
    private static final int TURN = APART + 1; // the owner once more, from when it takes the turn until another one does
    private static final int TIME = APART + 2; // of the last use; each hit takes one tick, so that counting it costs no more
    private static final int SKIPPED = APART + 3; // of the ticks, those that were no hits but others' time; MOVING while both change
    private static final int NEXT_TURN = APART + 4; // while it is another's turn: not before this time
    private static final int STAMPS = APART + 5;
    private static final int FIRST_STAMPS = 64;
    private static final long NOBODY = -1; // no thread has this id
    private static final long MOVING = -1;
    private static final long BURST = (long) HITS_PER_TURN * TURNS_AT_ONCE;

    private static final VarHandle NOTE = MethodHandles.arrayElementVarHandle(long[].class);
    private static final long[] NOBODYS = nobodys(); // nobody writes there

    private final long[][] table; // of all stripes: their arrays at first hand, one step less on the way of a hit
    private final int place;
    private final WeakReference<Thread> thread;
    private volatile long[] notes;
    private long floor; // what was noted up to this time belongs to other values; under the lock of who evicts

    /** A stripe of nobody. */
    AccessStripe(long[][] table, int place) {
        this.table = table;
        this.place = place;
        this.thread = new WeakReference<>(null);
        this.notes = NOBODYS;
        table[place] = notes;
    }

    /** A stripe for this thread, which goes on where another one, which has ended, left off. */
    AccessStripe(AccessStripe predecessor) {
        Thread owner = Thread.currentThread();
        this.table = predecessor.table;
        this.place = predecessor.place;
        this.thread = new WeakReference<>(owner);
        this.notes = predecessor.notes == NOBODYS ? new long[STAMPS + FIRST_STAMPS + APART] : predecessor.notes;
        this.floor = predecessor.floor;
        notes[NEXT_TURN] = notes[TIME] - BURST;
        notes[TURN] = NOBODY;
        notes[OWNER] = owner.threadId();
        table[place] = notes;
    }

    private static long[] nobodys() {
        long[] notes = new long[STAMPS];
        notes[OWNER] = NOBODY;
        notes[TURN] = NOBODY;
        return notes;
    }

    /** Of the stripes' notes, by place, what {@link #note} takes for the thread with {@code id}, if that has a stripe at its first place. */
    static long[] of(long[][] notes, long id) {
        return notes[(int) id & (notes.length - 1)];
    }

    /**
     * The whole of a usual hit: notes in {@code notes} that the thread with {@code id} uses the value with {@code number}. False, and nothing done,
     * where that thread has to call {@link #use} or {@link #count} instead.
     */
    static boolean note(long[] notes, long id, int number) {
        int at = STAMPS + number;
        if (at >= notes.length || (notes[TURN] != id && (notes[OWNER] != id || notes[TIME] >= notes[NEXT_TURN]))) {
            return false;
        }
        long now = notes[TIME] + 1;
        notes[TIME] = now;
        notes[at] = now;
        return true;
    }

    boolean isOf(long id) {
        return notes[OWNER] == id;
    }

    /** True where no thread will write here any more. */
    boolean isAbandoned() {
        Thread writer = thread.get();
        return writer == null || !writer.isAlive();
    }

    /** Counts a hit. For the owner. */
    void count() {
        notes[TIME]++;
    }

    /** Notes a use of the value with {@code number}, and counts it as a hit. For the owner. */
    void use(int number, LogicalClock clock) {
        int at = STAMPS + number;
        if (at >= notes.length) {
            grow(at);
        }
        long[] mine = notes;
        if (mine[TURN] != mine[OWNER] && mine[TIME] >= mine[NEXT_TURN]) {
            takeTurn(mine, clock);
        }
        long now = mine[TIME] + 1;
        mine[TIME] = now;
        mine[at] = now;
    }

    /** Allows turns again at once. For the owner. */
    void refresh() {
        long[] mine = notes;
        mine[NEXT_TURN] = Math.min(mine[NEXT_TURN], mine[TIME] - BURST);
    }

    @Override
    public void lose() {
        notes[TURN] = NOBODY;
    }

    @Override
    public long time() {
        return notes[TIME];
    }

    /** How many hits were counted here. Any thread. */
    long hits() {
        long[] current = notes;
        while (true) {
            long skipped = (long) NOTE.getAcquire(current, SKIPPED);
            long now = (long) NOTE.getAcquire(current, TIME);
            if (skipped != MOVING && skipped == (long) NOTE.getOpaque(current, SKIPPED)) {
                return now - skipped;
            }
            Thread.onSpinWait();
        }
    }

    /** When the value with {@code number} was last used here; 0 for never. */
    long stamp(int number) {
        long[] current = notes;
        int at = STAMPS + number;
        long stamp = at < current.length ? current[at] : 0;
        return stamp > floor ? stamp : 0;
    }

    /** Forgets which values were used so far. Under the lock of who evicts. */
    void forget() {
        floor = time();
    }

    /** Goes on, with the next use, from the time of whose turn it was. */
    private void takeTurn(long[] mine, LogicalClock clock) {
        mine[NEXT_TURN] = Math.max(mine[NEXT_TURN], mine[TIME] - BURST) + HITS_PER_TURN;
        LogicalClock.Timekeeper former;
        try {
            do {
                former = clock.current();
                skip(mine, Math.max(0, former.time() - mine[TIME]) + 1); // before it is this one's turn, so that the next goes on from here
                mine[TURN] = mine[OWNER];
            } while (!clock.pass(former, this));
        } catch (Throwable e) { // such as a stack that is used up: else it would take every turn for its own from now on
            mine[TURN] = NOBODY;
            throw e;
        }
    }

    /** Lets time pass without hits. Who counts meanwhile sees both times or none ({@link #hits}): a lock by sequence, of one writer. */
    private static void skip(long[] mine, long ticks) {
        long skipped = mine[SKIPPED] + ticks;
        long time = mine[TIME] + ticks;
        long turn = mine[NEXT_TURN] + ticks;
        try {
            NOTE.setOpaque(mine, SKIPPED, MOVING);
            VarHandle.storeStoreFence();
            mine[TIME] = time;
            mine[NEXT_TURN] = turn;
            NOTE.setRelease(mine, SKIPPED, skipped);
        } catch (Throwable e) { // without a call, since the stack may be used up: whoever counts would wait for ever
            mine[TIME] = time;
            mine[NEXT_TURN] = turn;
            mine[SKIPPED] = skipped;
            throw e;
        }
    }

    private void grow(int at) {
        long[] more = Arrays.copyOf(notes, Math.max(2 * notes.length, at + 1 + APART));
        more[TURN] = NOBODY; // it may be lost meanwhile
        notes = more;
        table[place] = more;
    }
}
