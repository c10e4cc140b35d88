package dev.granary.cache.build;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/** Runs something at the edge of a stack: with no room at all, then with the room of one more frame each time. */
public final class StackEdge {
    private static final int LEAST_STACK = 256 << 10;

    private final int levels;
    private final IntConsumer action;

    private StackEdge(int levels, IntConsumer action) {
        this.levels = levels;
        this.action = action;
    }

    /**
     * Runs {@code action} with the room of 0, 1, 2, … frames, up to {@code levels}, in a thread of its own. Stack overflows are what is wanted.
     *
     * @param round shifts the edge a little
     * @throws AssertionError if the action throws anything but {@link StackOverflowError}
     */
    public static void run(int levels, int round, IntConsumer action) throws InterruptedException {
        AtomicReference<@Nullable Throwable> unwanted = new AtomicReference<>();
        StackEdge edge = new StackEdge(levels, level -> {
            try {
                action.accept(level);
            } catch (StackOverflowError e) {
                return;
            } catch (Throwable e) {
                if (!(e.getCause() instanceof StackOverflowError)) { // a class that is linked at this moment says it so
                    unwanted.compareAndSet(null, e);
                }
            }
        });
        Thread thread = new Thread(null, edge::descend, "edge", LEAST_STACK + round * 4096L);
        thread.start();
        thread.join();
        if (unwanted.get() != null) {
            throw new AssertionError("Another failure than the one that was to be expected", unwanted.get());
        }
    }

    @SuppressWarnings("InfiniteRecursion") // its end is what is wanted
    private int descend() {
        int level;
        try {
            level = descend();
        } catch (StackOverflowError e) {
            level = 0;
        }
        if (level < levels) {
            try {
                action.accept(level);
            } catch (StackOverflowError e) {
                return level + 1;
            }
        }
        return level + 1;
    }
}
