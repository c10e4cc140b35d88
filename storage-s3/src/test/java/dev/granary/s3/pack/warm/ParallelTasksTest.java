package dev.granary.s3.pack.warm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the number of workers for a list of tasks. */
class ParallelTasksTest {
    @Test
    @DisplayName("no more workers are created than there are tasks, since each takes memory")
    void workers() throws InterruptedException {
        AtomicInteger created = new AtomicInteger();
        Queue<String> done = new ConcurrentLinkedQueue<>();
        ParallelTasks.run(8, List.of("a", "b", "c"), () -> {
            created.incrementAndGet();
            return done::add;
        });
        assertEquals(List.of("a", "b", "c"), done.stream().sorted().toList());
        assertEquals(3, created.get());
    }
}
