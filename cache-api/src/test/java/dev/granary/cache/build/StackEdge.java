package dev.granary.cache.build;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;

/**
 * A runner of actions near the end of a stack: first without any room, then with one more frame
 * each time.
 */
public final class StackEdge {
    private static final int STACK_BYTES = 256 << 10;

    private final int levels;
    private final IntConsumer action;

    private StackEdge(int levels, IntConsumer action) {
        this.levels = levels;
        this.action = action;
    }

    /**
     * Runs {@code action} with room for 0, 1, 2 and more frames, up to {@code levels}, in its own
     * thread. Stack overflows are expected.
     *
     * @param round shifts the edge slightly
     * @throws AssertionError if the action throws anything but {@link StackOverflowError}
     */
    public static void run(int levels, int round, IntConsumer action) throws InterruptedException {
        AtomicReference<@Nullable Throwable> unexpected = new AtomicReference<>();
        StackEdge edge = new StackEdge(levels, level -> {
            try {
                action.accept(level);
            } catch (StackOverflowError e) {
                return;
            } catch (Throwable e) {
                if (!(e.getCause() instanceof StackOverflowError)) { // linking wraps the error
                    unexpected.compareAndSet(null, e);
                }
            }
        });
        Thread thread = new Thread(null, edge::descend, "edge", STACK_BYTES + round * 4096L);
        thread.start();
        thread.join();
        if (unexpected.get() != null) {
            throw new AssertionError("Unexpected failure", unexpected.get());
        }
    }

    @SuppressWarnings("InfiniteRecursion") // the overflow is intended
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
