package dev.granary.gpu.composite.creation;

import dev.granary.cache.CompileException;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;

/** Utility that runs calls in parallel, on threads of their own. */
public final class ParallelCalls {
    private ParallelCalls() {}

    /**
     * Returns the results in order, after all calls have ended. An interrupt does not end the wait,
     * which is bounded by the calls; the thread's interrupt status is kept.
     *
     * @throws CompileException if the first failed call, in order, threw it; unchecked exceptions
     *     and errors are rethrown likewise
     */
    public static <T> List<T> call(List<Callable<T>> calls) throws CompileException {
        List<FutureTask<T>> tasks = calls.stream().map(FutureTask::new).toList();
        run(tasks, tasks.size());
        List<T> results = new ArrayList<>(tasks.size());
        for (FutureTask<T> task : tasks) {
            results.add(result(task));
        }
        return results;
    }

    /**
     * Runs all tasks to their end, whether they succeed or fail, at most {@code atOnce} at once.
     */
    public static void run(Collection<? extends FutureTask<?>> tasks, int atOnce) {
        Queue<FutureTask<?>> waiting = new ConcurrentLinkedQueue<>(tasks);
        Runnable worker = () -> {
            for (FutureTask<?> task = waiting.poll(); task != null; task = waiting.poll()) {
                task.run();
            }
        };
        List<Thread> threads = Stream.generate(() -> Thread.startVirtualThread(worker))
                .limit(Math.min(atOnce, tasks.size()))
                .toList();
        boolean interrupted = Thread.interrupted();
        for (Thread thread : threads) {
            interrupted |= join(thread);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Returns the result of a task that was run.
     *
     * @throws CompileException if the task threw it; unchecked exceptions and errors are rethrown
     *     likewise
     */
    public static <T> T result(FutureTask<T> task) throws CompileException {
        return switch (task.state()) {
            case SUCCESS -> task.resultNow();
            case FAILED -> throw failure(task.exceptionNow());
            case RUNNING, CANCELLED -> throw new IllegalStateException("A call has not ended");
        };
    }

    /**
     * Waits until the thread has ended; returns true if the current thread was interrupted
     * meanwhile.
     */
    private static boolean join(Thread thread) {
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                return interrupted;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
    }

    private static CompileException failure(Throwable failure) {
        return switch (failure) {
            case CompileException e -> e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            default -> throw new IllegalStateException("A part could not be created", failure);
        };
    }
}
