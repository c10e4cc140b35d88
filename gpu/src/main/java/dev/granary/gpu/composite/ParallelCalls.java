package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** Utility that runs calls in parallel, each on a thread of its own. */
final class ParallelCalls {
    private ParallelCalls() {}

    /**
     * Returns the results in order, after all calls have ended. An interrupt does not end the wait,
     * which is bounded by the calls; the thread's interrupt status is kept.
     *
     * @throws CompileException if the first failed call, in order, threw it; unchecked exceptions
     *     and errors are rethrown likewise
     */
    static <T> List<T> call(List<Callable<T>> calls) throws CompileException {
        List<FutureTask<T>> tasks = calls.stream().map(FutureTask::new).toList();
        List<Thread> threads = tasks.stream().map(Thread::startVirtualThread).toList();
        boolean interrupted = Thread.interrupted();
        for (Thread thread : threads) {
            interrupted |= join(thread);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        List<T> results = new ArrayList<>(tasks.size());
        for (FutureTask<T> task : tasks) {
            switch (task.state()) {
                case SUCCESS -> results.add(task.resultNow());
                case FAILED -> fail(task.exceptionNow());
                case RUNNING, CANCELLED -> throw new IllegalStateException("A call has not ended");
            }
        }
        return results;
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

    private static void fail(Throwable failure) throws CompileException {
        switch (failure) {
            case CompileException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            default -> throw new IllegalStateException("A part could not be created", failure);
        }
    }
}
