package dev.granary.testing;

import dev.granary.s3.store.WriteResult;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Starts many threads at the same moment. */
public final class Race {
    /** The task of one thread. */
    public interface Racer {
        WriteResult run(int number) throws Exception;
    }

    private Race() {}

    /** Returns the results of all threads, in the order of their numbers. */
    public static List<WriteResult> run(int racers, Racer racer) throws Exception {
        CountDownLatch start = new CountDownLatch(1);
        List<Future<WriteResult>> futures = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < racers; i++) {
                int number = i;
                futures.add(threads.submit(() -> {
                    start.await();
                    return racer.run(number);
                }));
            }
            start.countDown();
            List<WriteResult> results = new ArrayList<>();
            for (Future<WriteResult> future : futures) {
                results.add(future.get());
            }
            return results;
        }
    }
}
