package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** Utility that runs calls in parallel, on virtual threads of their own. */
final class ParallelCalls {
    private ParallelCalls() {}

    /**
     * Returns the results in order, after all calls have ended.
     *
     * @throws CompileException if the first failed call, in order, threw it; unchecked exceptions
     *     and errors are rethrown likewise
     */
    static <T> List<T> call(List<Callable<T>> calls) throws CompileException {
        List<FutureTask<T>> tasks = calls.stream().map(FutureTask::new).toList();
        run(tasks, tasks.size());
        List<T> results = new ArrayList<>(tasks.size());
        for (FutureTask<T> task : tasks) {
            results.add(result(task));
        }
        return results;
    }

    /**
     * Runs all tasks to their end, whether they succeed or fail, at most {@code atOnce} at once. An
     * interrupt does not end the wait, which is bounded by the tasks; the thread's interrupt status
     * is kept.
     */
    static void run(Collection<? extends FutureTask<?>> tasks, int atOnce) {
        int threads = Math.clamp(tasks.size(), 1, Math.max(1, atOnce));
        try (ExecutorService executor =
                Executors.newFixedThreadPool(threads, Thread.ofVirtual().factory())) {
            CompletableFuture.allOf(tasks.stream()
                            .map(task -> CompletableFuture.runAsync(task, executor))
                            .toArray(CompletableFuture<?>[]::new))
                    .join(); // unlike invokeAll, an interrupt cancels nothing
        }
    }

    /**
     * Returns the result of a task that was run.
     *
     * @throws CompileException if the task threw it; unchecked exceptions and errors are rethrown
     *     likewise
     */
    static <T> T result(FutureTask<T> task) throws CompileException {
        if (task.state() == Future.State.SUCCESS) {
            return task.resultNow();
        }
        switch (task.exceptionNow()) {
            case CompileException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException("A part could not be created", e);
        }
    }
}
