package dev.granary.s3.pack.warm;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Runner of a list of tasks on several threads. */
public final class ParallelTasks {
    private ParallelTasks() {}

    /**
     * Runs all of {@code tasks} and returns when they have ended; an interrupt of the caller
     * cancels them.
     *
     * @param worker creates the consumer of one thread's tasks
     */
    public static <T> void run(int workers, List<T> tasks, Supplier<Consumer<T>> worker)
            throws InterruptedException {
        Queue<T> waiting = new ConcurrentLinkedQueue<>(tasks);
        int needed = Math.max(1, Math.min(workers, tasks.size()));
        ExecutorService threads = Executors.newFixedThreadPool(needed);
        try {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < needed; i++) {
                all.add(threads.submit(() -> {
                    Consumer<T> work = worker.get();
                    for (T next = waiting.poll();
                            next != null && !Thread.currentThread().isInterrupted();
                            next = waiting.poll()) {
                        work.accept(next);
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("A task failed unexpectedly", e.getCause());
        } finally {
            threads.shutdownNow();
            threads.close(); // even after an interrupt, no task may outlive this call
        }
    }
}
