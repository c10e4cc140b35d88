package dev.granary.cache.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of pools of daemon threads. */
@DisplayName("Pools of daemon threads")
class DaemonThreadsTest {
    private static final int MAX_THREADS = 64;

    @Test
    @DisplayName("tasks that follow each other share few threads, however many the pool may have")
    void reuse() throws Exception {
        try (ForkJoinPool pool = pool(MAX_THREADS)) {
            Set<Thread> threads = new HashSet<>();
            for (int i = 0; i < 1_000; i++) {
                threads.add(pool.submit(Thread::currentThread).get());
                // else the thread could still be ending its task when the next one comes
                Await.holds(() -> pool.getActiveThreadCount() == 0);
            }

            assertThat(threads).hasSizeLessThan(16);
            assertThat(threads).allMatch(Thread::isDaemon);
            assertThat(threads).allMatch(thread -> thread.getName().startsWith("granary-test-"));
        }
    }

    @Test
    @DisplayName("no more tasks than threads run at once; the others run later")
    void limit() throws Exception {
        int limit = 4;
        CountDownLatch started = new CountDownLatch(limit);
        CountDownLatch released = new CountDownLatch(1);
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        try (ExecutorService pool = pool(limit)) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < 5 * limit; i++) {
                all.add(pool.submit(() -> {
                    most.accumulateAndGet(running.incrementAndGet(), Math::max);
                    started.countDown();
                    released.await();
                    return running.decrementAndGet();
                }));
            }
            started.await();
            released.countDown();
            for (Future<?> one : all) {
                one.get();
            }
        }

        assertThat(most).hasValue(limit);
    }

    @Test
    @DisplayName("threads have the context class loader of the thread that created the pool")
    void classLoader() throws Exception {
        Thread caller = Thread.currentThread();
        ClassLoader before = caller.getContextClassLoader();
        try (URLClassLoader own = new URLClassLoader(new URL[0], before)) {
            caller.setContextClassLoader(own);
            try (ExecutorService pool = pool(1)) {
                caller.setContextClassLoader(before);
                ClassLoader seen = pool.submit(() -> Thread.currentThread().getContextClassLoader())
                        .get();

                assertThat(seen).isSameAs(own);
            }
        } finally {
            caller.setContextClassLoader(before);
        }
    }

    @Test
    @DisplayName("a pool that is shut down ends its tasks and takes no others")
    void shutDown() throws Exception {
        ExecutorService pool = pool(1);
        CountDownLatch released = new CountDownLatch(1);
        Future<String> first = pool.submit(() -> {
            released.await();
            return "first";
        });
        Future<String> second = pool.submit(() -> "second");

        pool.shutdown();
        released.countDown();

        assertThat(first.get()).isEqualTo("first");
        assertThat(second.get()).isEqualTo("second");
        assertThatThrownBy(() -> pool.execute(() -> {}))
                .isInstanceOf(RejectedExecutionException.class);
    }

    private static ForkJoinPool pool(int maxThreads) {
        return (ForkJoinPool)
                DaemonThreads.pool("granary-test", maxThreads, Duration.ofSeconds(10));
    }
}
