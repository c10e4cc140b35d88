package dev.granary.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Starts many threads at the same moment. */
public final class Race {
    /** The task of one thread. */
    public interface Racer<T> {
        T run(int number) throws Exception;
    }

    private Race() {}

    /** Returns the results of all threads, in the order of their numbers. */
    public static <T> List<T> run(int racers, Racer<T> racer) throws Exception {
        CountDownLatch start = new CountDownLatch(1);
        List<Future<T>> futures = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < racers; i++) {
                int number = i;
                futures.add(threads.submit(() -> {
                    start.await();
                    return racer.run(number);
                }));
            }
            start.countDown();
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(future.get());
            }
            return results;
        }
    }

    /** Returns the results of different tasks, each on a thread of its own. */
    public static <T> List<T> run(List<? extends Callable<T>> tasks) throws Exception {
        return run(tasks.size(), number -> tasks.get(number).call());
    }
}
