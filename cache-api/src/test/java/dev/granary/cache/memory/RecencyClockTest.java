package dev.granary.cache.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RecencyClockTest {
    private static final int THREADS = 4;
    private static final int TOUCHES = 100_000;

    @Test
    @DisplayName("M9 the clock never runs backwards and gives no stamp twice, however many threads touch")
    void monotonic() throws Exception {
        RecencyClock clock = new RecencyClock();
        CyclicBarrier start = new CyclicBarrier(THREADS);
        Callable<List<Long>> touches = () -> {
            start.await();
            List<Long> stamps = new ArrayList<>();
            for (int i = 0; i < TOUCHES; i++) {
                stamps.add(clock.advance());
            }
            return stamps;
        };
        Set<Long> all = new HashSet<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            for (Future<List<Long>> done : threads.invokeAll(Collections.nCopies(THREADS, touches))) {
                List<Long> stamps = done.get();
                for (int i = 1; i < TOUCHES; i++) {
                    assertTrue(stamps.get(i) > stamps.get(i - 1), "backwards");
                }
                all.addAll(stamps);
            }
        }
        assertEquals(THREADS * TOUCHES, all.size());
        assertEquals((long) THREADS * TOUCHES, clock.now());
    }
}
