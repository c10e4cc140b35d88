package dev.granary.benchmarks.bucket.workload;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads that share numbered tasks. */
public final class ParallelWorkers {
    private ParallelWorkers() {}

    /** A numbered task. */
    @FunctionalInterface
    public interface Task {
        /** Runs the task of that number. */
        public void run(int index) throws IOException;
    }

    /**
     * Runs the tasks 0 to {@code tasks} - 1, some of them concurrently, and waits for all.
     *
     * @throws IOException if a task failed
     */
    public static void run(int atOnce, int tasks, Task task)
            throws IOException, InterruptedException {
        AtomicInteger next = new AtomicInteger();
        List<Future<?>> members = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < atOnce; i++) {
                members.add(threads.submit(() -> {
                    for (int index = next.getAndIncrement();
                            index < tasks;
                            index = next.getAndIncrement()) {
                        task.run(index);
                    }
                    return null;
                }));
            }
            for (Future<?> member : members) {
                member.get();
            }
        } catch (ExecutionException e) {
            throw new IOException(e.getCause());
        }
    }
}
