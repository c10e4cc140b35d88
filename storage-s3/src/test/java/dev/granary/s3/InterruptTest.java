package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ObjectStore;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Tests of interrupts at any moment of any public call: they only end the call sooner.
 * {@code granary.interrupts} sets the number of calls.
 */
class InterruptTest {
    private static final int CALLS = TestRuns.count(60);
    private static final int CONNECTIONS = 3;
    private static final int WORKERS = 6;
    private static final int STORED = 5;

    private final SplittableRandom random = TestSeed.random("InterruptTest");
    private final TestEntries entries = new TestEntries("InterruptTest");
    private final AtomicInteger remaining = new AtomicInteger(CALLS);
    private final AtomicInteger interrupts = new AtomicInteger();

    /** An interruptible call. */
    interface Call {
        void run(SplittableRandom generator) throws IOException;
    }

    /** One calling thread, which announces when it may be interrupted. */
    private final class Worker {
        private final SplittableRandom generator;
        private final Call call;
        // guarded by this worker, like the following fields
        private Thread thread = Thread.currentThread();
        private boolean isCalling;
        private boolean wasInterrupted;

        Worker(SplittableRandom generator, Call call) {
            this.generator = generator;
            this.call = call;
        }

        void work() throws IOException {
            synchronized (this) {
                thread = Thread.currentThread();
            }
            while (remaining.getAndDecrement() > 0) {
                synchronized (this) {
                    isCalling = true;
                    wasInterrupted = false;
                }
                call.run(generator);
                synchronized (this) {
                    isCalling = false;
                    assertEquals(
                            wasInterrupted,
                            Thread.interrupted(),
                            "the interrupt status after a call");
                }
            }
        }

        synchronized void interrupt() {
            if (isCalling && !wasInterrupted) {
                wasInterrupted = true;
                interrupts.incrementAndGet();
                thread.interrupt();
            }
        }
    }

    private void storm(Call call) throws Exception {
        List<Worker> workers = new ArrayList<>();
        List<Future<?>> running = new ArrayList<>();
        AtomicBoolean isOver = new AtomicBoolean();
        try (ExecutorService platform = Executors.newCachedThreadPool();
                ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < WORKERS; i++) {
                Worker worker = new Worker(random.split(), call);
                workers.add(worker);
                running.add((i % 2 == 0 ? platform : virtual).submit(() -> {
                    worker.work();
                    return null;
                }));
            }
            SplittableRandom when = random.split();
            Thread storm = Thread.ofPlatform().start(() -> {
                while (!isOver.get()) {
                    // at any point of a call, which takes some milliseconds
                    LockSupport.parkNanos(when.nextLong(3_000_000));
                    workers.get(when.nextInt(WORKERS)).interrupt();
                }
            });
            try {
                for (Future<?> one : running) {
                    one.get();
                }
            } finally {
                isOver.set(true);
                storm.join();
            }
        }
        assertTrue(interrupts.get() > 0, "nothing was interrupted");
    }

    private static S3ConfigBuilder config(S3ClientLibrary client) {
        return TestS3.server()
                .config()
                .client(client)
                .prefix("interrupts/" + UUID.randomUUID())
                .maxConnections(CONNECTIONS)
                .absentMemory(Duration.ZERO)
                .stallTimeout(Duration.ofMinutes(1))
                .requestTimeout(Duration.ofMinutes(2))
                .loadDeadline(Duration.ofMinutes(4));
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a storm of interrupts on every call of the bucket tier: no exception, the status"
            + " is kept; afterwards all works at once, and all permits are free")
    void tier(S3ClientLibrary client) throws Exception {
        List<Entry> stored = new ArrayList<>();
        try (BucketTier tier = BucketTier.open(config(client).build())) {
            for (int i = 0; i < STORED; i++) {
                stored.add(entries.entry(i * 50_000));
            }
            Entry fresh = entries.entry(10_000);
            storm(generator -> {
                Entry one = stored.get(generator.nextInt(STORED));
                switch (generator.nextInt(8)) {
                    case 0, 1 -> tier.load(one.id());
                    case 2 -> tier.load(TestEntries.id("absent-" + generator.nextInt()));
                    case 3, 4 -> tier.store(one);
                    case 5 ->
                        assertThat(tier.uncached().apply(one.id()))
                                .isNoneOf(LoadResult.Damaged.class);
                    case 6 -> tier.packObstacle();
                    default -> {
                        try {
                            tier.list(listed -> assertFalse(listed.namespace().isEmpty()));
                        } catch (IOException e) {
                            // the result of listing in an interrupted thread
                            assertTrue(e.toString().length() > 40, e::toString);
                        }
                    }
                }
            });
            assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
            assertThat(tier.store(fresh)).isStored();
            for (Entry one : stored) {
                tier.store(one);
                assertThat(tier.load(one.id())).isHitOf(one);
            }
            inParallel(CONNECTIONS, () -> assertThat(tier.load(fresh.id())).isHitOf(fresh));
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a storm of interrupts on every call of a transport: results, the status is kept;"
            + " afterwards all connections are usable at once")
    void transport(S3ClientLibrary client) throws Exception {
        S3Config config = config(client).build();
        String prefix = config.location().prefix() + "/";
        try (ObjectStore store = ObjectStoreFactory.open(config)) {
            byte[] body = entries.bytes(200_000);
            store.put(prefix + "key", body);
            storm(generator -> {
                Object result =
                        switch (generator.nextInt(8)) {
                            case 0 -> store.get(prefix + "key", 1 << 20);
                            case 1 -> store.get(prefix + "key", 1000); // too large
                            case 2 -> store.range(prefix + "key", 1000, 50_000, new byte[50_000]);
                            case 3 -> store.head(prefix + "key");
                            case 4 -> store.put(prefix + "other", body);
                            case 5 ->
                                store.putIfAbsent(prefix + "more/" + generator.nextInt(10), body);
                            case 6 -> store.delete(prefix + "more/" + generator.nextInt(10));
                            default ->
                                store.list(
                                        prefix,
                                        object -> assertTrue(object.key().startsWith(prefix)));
                        };
                assertTrue(result.toString().length() < 100_000);
            });
            inParallel(
                    CONNECTIONS,
                    () -> assertEquals(
                            body.length,
                            assertThat(store.get(prefix + "key", 1 << 20))
                                    .isFound()
                                    .bytes()
                                    .byteSize()));
        }
    }

    private static void inParallel(int threads, Runnable task) throws Exception {
        List<Future<?>> all = new ArrayList<>();
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            for (int i = 0; i < threads; i++) {
                all.add(pool.submit(task));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
    }
}
