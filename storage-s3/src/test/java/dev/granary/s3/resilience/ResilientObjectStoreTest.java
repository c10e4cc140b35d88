package dev.granary.s3.resilience;

import static dev.granary.s3.contract.Fault.ERROR_500;
import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Tests of the layers around a transport. */
class ResilientObjectStoreTest {
    private final MemoryObjectStore transport = new MemoryObjectStore();
    private final TestTicker ticker = new TestTicker();

    private ResilientObjectStore store(S3ConfigBuilder config, MemoryObjectStore behind) {
        return new ResilientObjectStore(_ -> behind, config.build(), ticker);
    }

    private ResilientObjectStore store() {
        return store(S3Config.builder("bucket"), transport);
    }

    @Test
    @DisplayName("a read has three attempts in total, with growing pauses; a write one")
    void retries() {
        transport.place("key", new byte[3]);
        Fault lost = new Fault.Lost(ERROR_500);
        ResilientObjectStore store = store();
        transport.script(lost, lost);
        assertThat(store.get("key", 10)).isFound();
        transport.script(lost);
        assertThat(store.head("key")).isFound();
        assertEquals(3, ticker.pauses().size());
        assertEquals(3, store.statistics().retries());
        transport.forgetRequests();
        store = store();
        transport.script(lost);
        assertThat(store.putIfAbsent("other", new byte[1])).isUnknown();
        transport.script(lost);
        assertThat(store.replaceIfMatch("other", "v", new byte[1])).isUnknown();
        transport.script(lost);
        assertThat(store.delete("other")).isUnknown();
        assertEquals(List.of("PUT none-match", "PUT match", "DELETE"), transport.requests());
    }

    @Test
    @DisplayName("a failing read ends after three requests")
    void retriesEnd() {
        Fault lost = new Fault.Lost(ERROR_500);
        transport.script(lost, lost, lost, lost);
        assertThat(store().get("key", 10)).isUnavailable();
        assertEquals(3, transport.requests().size());
    }

    @Test
    @DisplayName("no retry that could end after the deadline")
    void deadline() {
        S3ConfigBuilder config = S3Config.builder("bucket")
                .requestTimeout(Duration.ofSeconds(4))
                .loadDeadline(Duration.ofSeconds(10));
        MemoryObjectStore slow = new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                ticker.pass(Duration.ofSeconds(4));
                return super.get(key, limit);
            }
        };
        Fault lost = new Fault.Lost(ERROR_500);
        slow.script(lost, lost, lost);
        long start = ticker.nanos();
        assertThat(store(config, slow).get("key", 10)).isUnavailable();
        assertEquals(2, slow.requests().size());
        assertTrue(ticker.nanos() - start <= Duration.ofSeconds(10).toNanos());
    }

    @Test
    @DisplayName("1,000 threads over four connections: at most four at once, and all are served")
    void bulkhead() throws Exception {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger max = new AtomicInteger();
        MemoryObjectStore watched = new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                max.accumulateAndGet(running.incrementAndGet(), Math::max);
                LockSupport.parkNanos(100_000); // so that others could enter
                GetResult result = super.get(key, limit);
                running.decrementAndGet();
                return result;
            }
        };
        ResilientObjectStore store = store(
                S3Config.builder("bucket").maxConnections(4).loadDeadline(Duration.ofMinutes(2)),
                watched);
        List<Future<GetResult>> results = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 1000; i++) {
                results.add(threads.submit(() -> store.get("key", 10)));
            }
            for (Future<GetResult> result : results) {
                assertThat(result.get()).isAbsent();
            }
        }
        assertTrue(max.get() <= 4, () -> "at once: " + max);
        assertEquals(1000, store.statistics().requests().get());
    }

    @Test
    @DisplayName("a thread whose wait for a connection ends gets a failure, and no request is sent"
            + " for it")
    void busy() throws Exception {
        CountDownLatch active = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        MemoryObjectStore stuck = new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                active.countDown();
                try {
                    leave.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                return super.get(key, limit);
            }
        };
        ResilientObjectStore store = store(
                S3Config.builder("bucket")
                        .maxConnections(1)
                        .requestTimeout(Duration.ofMillis(100))
                        .loadDeadline(Duration.ofMillis(110)),
                stuck);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<GetResult> first = threads.submit(() -> store.get("key", 10));
            active.await();
            WriteResult second = store.putIfAbsent("key", new byte[1]);
            leave.countDown(); // before the assertions, since closing awaits the first
            assertThat(second).isNotSent();
            assertThat(first.get()).isAbsent();
        }
        assertEquals(0, store.statistics().requests().put());
        assertEquals(BucketTierStatistics.Breaker.CLOSED, store.statistics().breaker());
    }

    /** A transport that counts those that are open. */
    private static final class CountedStore extends MemoryObjectStore {
        private final AtomicInteger open;
        private boolean isClosed;

        CountedStore(AtomicInteger open) {
            this.open = open;
            open.incrementAndGet();
        }

        @Override
        public void close() {
            open.addAndGet(isClosed ? 0 : -1);
            isClosed = true;
        }
    }

    private void assertClosed(ResilientObjectStore store) {
        assertEquals("closed", assertThat(store.get("key", 10)).isUnavailable().message());
    }

    @Test
    @DisplayName("a transport that is closed before, during or after its creation sends no request,"
            + " and none stays open")
    void closed() {
        AtomicInteger open = new AtomicInteger();
        S3Config config = S3Config.builder("bucket").build();
        ResilientObjectStore unused =
                new ResilientObjectStore(_ -> new CountedStore(open), config, ticker);
        unused.close();
        assertClosed(unused);
        ResilientObjectStore used =
                new ResilientObjectStore(_ -> new CountedStore(open), config, ticker);
        assertThat(used.get("key", 10)).isAbsent();
        used.close();
        assertClosed(used);
        ResilientObjectStore[] meanwhile = new ResilientObjectStore[1];
        meanwhile[0] = new ResilientObjectStore(
                _ -> {
                    meanwhile[0].close();
                    return new CountedStore(open);
                },
                config,
                ticker);
        assertClosed(meanwhile[0]);
        assertEquals(0, open.get());
        assertEquals(1, used.statistics().requests().get());
    }
}
