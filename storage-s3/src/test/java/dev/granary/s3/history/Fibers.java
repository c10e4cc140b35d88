package dev.granary.s3.history;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * Runner of tasks, one at a time, each until it yields. A history has only the concurrency that its
 * scheduler chose, and is thus repeatable. For one controlling thread.
 */
final class Fibers {
    private final Semaphore control = new Semaphore(0);
    private final List<Fiber> all = new ArrayList<>();

    /** A running task. */
    final class Fiber {
        private final Semaphore turn = new Semaphore(0);
        private volatile boolean isDone;
        private volatile boolean isAbandoned;
        private volatile @Nullable Throwable failure;

        boolean isDone() {
            return isDone;
        }

        /** Called by the task: lets others run. */
        void yieldTurn() {
            control.release();
            turn.acquireUninterruptibly();
            if (isAbandoned) {
                throw new Abandoned();
            }
        }

        /** Called by the controlling thread: runs the task until it yields or ends. */
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
                // the task has ended
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

    /** Returns a task that begins when it is resumed. */
    Fiber start(Runnable task) {
        Fiber fiber = new Fiber();
        all.removeIf(Fiber::isDone);
        all.add(fiber);
        Thread.ofVirtual().start(() -> fiber.run(task));
        return fiber;
    }

    /** Ends all running tasks. */
    void abandon() {
        for (Fiber fiber : all) {
            if (!fiber.isDone()) {
                fiber.isAbandoned = true;
                // code under test may catch an error and send its next request
                while (!fiber.isDone()) {
                    fiber.turn.release();
                    control.acquireUninterruptibly();
                }
            }
        }
    }
}
