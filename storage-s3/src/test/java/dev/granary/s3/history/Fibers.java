package dev.granary.s3.history;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Runs tasks one at a time, each until it hands over: a history has no other concurrency than the one that its scheduler chose, and is the same
 * each time. For one controlling thread.
 */
final class Fibers {
    private final Semaphore control = new Semaphore(0);
    private final List<Fiber> all = new ArrayList<>();

    /** A task under way. */
    final class Fiber {
        private final Semaphore turn = new Semaphore(0);
        private volatile boolean isDone;
        private volatile boolean isAbandoned;
        private volatile @Nullable Throwable failure;

        boolean isDone() {
            return isDone;
        }

        /** Called by the task: lets others go on. */
        void handOver() {
            control.release();
            turn.acquireUninterruptibly();
            if (isAbandoned) {
                throw new Abandoned();
            }
        }

        /** Called by the controlling thread: lets the task go on until it hands over or ends. */
        void resume() {
            turn.release();
            control.acquireUninterruptibly();
            Throwable failed = failure;
            if (failed instanceof Violation violation) {
                throw violation;
            } else if (failed != null) {
                throw new IllegalStateException("A task failed", failed);
            }
        }

        private void run(Runnable task) {
            turn.acquireUninterruptibly();
            try {
                if (!isAbandoned) {
                    task.run();
                }
            } catch (Abandoned e) {
                // ends without a word
            } catch (Throwable e) {
                failure = e;
            } finally {
                isDone = true;
                control.release();
            }
        }
    }

    /** Ends a task whose history has ended. */
    private static final class Abandoned extends Error {
        Abandoned() {
            super("the history has ended", null, false, false);
        }
    }

    /** A task that begins when it is resumed. */
    Fiber start(Runnable task) {
        Fiber fiber = new Fiber();
        all.removeIf(Fiber::isDone);
        all.add(fiber);
        Thread.ofVirtual().start(() -> fiber.run(task));
        return fiber;
    }

    /** Ends all tasks that are under way. */
    void abandon() {
        for (Fiber fiber : all) {
            if (!fiber.isDone()) {
                fiber.isAbandoned = true;
                while (!fiber.isDone()) { // code under test may catch an error, and go on to its next request
                    fiber.turn.release();
                    control.acquireUninterruptibly();
                }
            }
        }
    }
}
