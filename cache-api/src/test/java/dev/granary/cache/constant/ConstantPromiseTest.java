package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.FakeDeviceMemory.Piece;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of promises and their waiting threads: fulfilled, failed, closed, abandoned, timed out. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConstantPromiseTest {
    private static final int WAITERS = 8;

    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private final ConstantTensorCaches caches =
            new ConstantTensorCaches(ConstantLimits.NONE, System::nanoTime, Duration.ofDays(1));
    private final ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);
    // a thread for each lookup: one that has promised the tensor must not look it up again
    private final ExecutorService threads =
            Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory());

    @AfterEach
    void nothingLeaks() {
        threads.shutdownNow();
        caches.close();
        memory.assertAllFreed();
        assertEquals(0, cache.statistics().promisedBytes());
    }

    private ConstantPromise<Piece> promise(ConstantTensorCache from) {
        return miss(from.getOrAdd(key("k"), MEGABYTE));
    }

    private static ConstantPromise<Piece> miss(ConstantTensorCache.Lookup<Piece> found) {
        if (found instanceof ConstantTensorCache.Lookup.Miss<Piece> miss) {
            return miss.promise();
        }
        throw new AssertionError("no miss: " + found);
    }

    /** Returns lookups of eight threads that wait for the promised tensor. */
    private List<Future<ConstantTensorCache.Lookup<Piece>>> waiters() {
        List<Future<ConstantTensorCache.Lookup<Piece>>> waiting = lookups();
        Await.holds(() -> cache.waiting(key("k")) == WAITERS);
        return waiting;
    }

    private List<Future<ConstantTensorCache.Lookup<Piece>>> lookups() {
        List<Future<ConstantTensorCache.Lookup<Piece>>> waiting = new ArrayList<>();
        Callable<ConstantTensorCache.Lookup<Piece>> lookup =
                () -> cache.getOrAdd(key("k"), MEGABYTE);
        for (int i = 0; i < WAITERS; i++) {
            waiting.add(threads.submit(lookup));
        }
        return waiting;
    }

    private static ConstantHold<Piece> hit(Future<ConstantTensorCache.Lookup<Piece>> future)
            throws Exception {
        return switch (future.get()) {
            case ConstantTensorCache.Lookup.Hit<Piece> hit -> hit.constant();
            case ConstantTensorCache.Lookup.Miss<Piece> _,
                    ConstantTensorCache.Lookup.Failed<Piece> _ ->
                throw new AssertionError("no hit: " + future.get());
        };
    }

    @Test
    @DisplayName("one of many callers misses and computes the tensor; the others wait and share it;"
            + " its bytes are reserved meanwhile")
    void fulfilled() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        assertEquals(MEGABYTE, cache.statistics().promisedBytes());
        assertEquals(0, cache.statistics().bytes());
        List<Future<ConstantTensorCache.Lookup<Piece>>> waiting = waiters();
        ConstantHold<Piece> own = promise.fulfil(memory.allocate("k", MEGABYTE));
        assertEquals(0, cache.statistics().promisedBytes());
        for (Future<ConstantTensorCache.Lookup<Piece>> other : waiting) {
            try (ConstantHold<Piece> shared = hit(other)) {
                assertSame(own.buffer(), shared.buffer());
            }
        }
        own.close();
        assertEquals(
                new ConstantTensorCache.Statistics(1, WAITERS, 0, 0, 0, 1, MEGABYTE, 0),
                cache.statistics());
    }

    @Test
    @DisplayName("a failure reaches all waiting threads, nothing is cached, the next caller"
            + " computes the tensor")
    void failed() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        List<Future<ConstantTensorCache.Lookup<Piece>>> waiting = waiters();
        Exception cause = new Exception("checked");
        promise.fail(cause);
        for (Future<ConstantTensorCache.Lookup<Piece>> other : waiting) {
            assertEquals(new ConstantTensorCache.Lookup.Failed<Piece>(cause), other.get());
        }
        promise(cache).close();
    }

    @Test
    @DisplayName("get throws the factory's own exception in all waiting threads: checked, unchecked"
            + " and Error")
    void failedGet() throws Exception {
        for (Throwable cause : List.of(
                new IOException("checked"),
                new IllegalStateException("unchecked"),
                new StackOverflowError())) {
            ConstantPromise<Piece> promise = promise(cache);
            Callable<ConstantHold<Piece>> lookup = () -> memory.take(cache, "k", 1);
            Future<ConstantHold<Piece>> other = threads.submit(lookup);
            Await.holds(() -> cache.waiting(key("k")) == 1);
            promise.fail(cause);
            assertSame(cause, assertThrows(ExecutionException.class, other::get).getCause());
        }
        assertEquals(0, memory.allocated());
    }

    @Test
    @DisplayName("a factory that fails while another thread waits: both get its exception, and"
            + " neither repeats it")
    void failedFactory() throws Exception {
        IOException cause = new IOException("disk");
        Callable<ConstantHold<Piece>> make = () -> cache.get(key("k"), MEGABYTE, () -> {
            Await.holds(() -> cache.waiting(key("k")) == 1);
            throw cause;
        });
        Future<ConstantHold<Piece>> builder = threads.submit(make);
        Await.holds(() -> cache.statistics().promisedBytes() > 0);
        Callable<ConstantHold<Piece>> lookup = () -> memory.take(cache, "k", 1);
        Future<ConstantHold<Piece>> other = threads.submit(lookup);
        assertSame(cause, assertThrows(ExecutionException.class, builder::get).getCause());
        assertSame(cause, assertThrows(ExecutionException.class, other::get).getCause());
        assertEquals(0, memory.allocated());
    }

    @Test
    @DisplayName("a promise closed unfulfilled: one waiting thread gets the miss, the others"
            + " continue to wait")
    void closed() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        List<Future<ConstantTensorCache.Lookup<Piece>>> waiting = waiters();
        promise.close();
        promise.close();
        assertOneBuilds(waiting);
    }

    @Test
    @DisplayName("an unreachable promise is abandoned by the garbage collector: no thread hangs")
    void unreachable() throws Exception {
        Thread forgetful =
                Thread.ofPlatform().start(() -> cache.<Piece>getOrAdd(key("k"), MEGABYTE));
        forgetful.join();
        // the collector may run before all of them wait
        List<Future<ConstantTensorCache.Lookup<Piece>>> waiting = lookups();
        Await.collected(() -> waiting.stream().anyMatch(Future::isDone));
        assertOneBuilds(waiting);
    }

    private void assertOneBuilds(List<Future<ConstantTensorCache.Lookup<Piece>>> waiting)
            throws Exception {
        Await.holds(() -> waiting.stream().anyMatch(Future::isDone));
        Future<ConstantTensorCache.Lookup<Piece>> first =
                waiting.stream().filter(Future::isDone).findFirst().orElseThrow();
        Await.holds(() -> cache.waiting(key("k")) == WAITERS - 1);
        miss(first.get()).fulfil(memory.allocate("k", MEGABYTE)).close();
        for (Future<ConstantTensorCache.Lookup<Piece>> other : waiting) {
            if (other != first) {
                hit(other).close();
            }
        }
        assertEquals(1, memory.allocated());
        assertTrue(cache.isCached(key("k")));
    }

    @Test
    @DisplayName("an interrupted waiter computes the tensor for itself and keeps its status; others"
            + " are not affected")
    void interrupted() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        List<String> end = new ArrayList<>();
        Thread waiter = Thread.ofPlatform().start(() -> {
            try (ConstantHold<Piece> own = memory.take(cache, "k", 1)) {
                end.add("cached " + own.isCached() + ", interrupted "
                        + Thread.currentThread().isInterrupted());
            }
        });
        Await.holds(() -> cache.waiting(key("k")) == 1);
        waiter.interrupt();
        waiter.join();
        assertEquals(List.of("cached false, interrupted true"), end);
        assertEquals(0, cache.waiting(key("k")));
        promise.fulfil(memory.allocate("k", MEGABYTE)).close();
        assertTrue(cache.isCached(key("k")));
        assertEquals(1, memory.live());
    }

    @Test
    @DisplayName("a thread that has waited for the maximum wait computes the tensor for itself")
    void timedOut() throws Exception {
        try (ConstantTensorCaches hasty = new ConstantTensorCaches(
                ConstantLimits.NONE, System::nanoTime, Duration.ofNanos(1))) {
            ConstantTensorCache shortWait = hasty.of(EngineKind.GPU, 0);
            ConstantPromise<Piece> stuck = promise(shortWait);
            threads.submit(() -> memory.use(shortWait, "k", 1)).get();
            assertEquals(1, memory.allocated());
            assertFalse(shortWait.isCached(key("k")));
            stuck.close();
        }
    }

    @Test
    @DisplayName("a promised tensor that is removed, or whose context is, reaches its waiting"
            + " threads but is not cached")
    void removedWhileMaking() throws Exception {
        for (Runnable removal : List.<Runnable>of(
                () -> assertTrue(cache.removeIfExist(key("k"))),
                () -> cache.removeContext(FakeDeviceMemory.CONTEXT))) {
            ConstantPromise<Piece> promise = promise(cache);
            List<Future<ConstantTensorCache.Lookup<Piece>>> waiting = waiters();
            removal.run();
            assertEquals(0, cache.statistics().promisedBytes());
            ConstantHold<Piece> own = promise.fulfil(memory.allocate("k", MEGABYTE));
            Piece piece = own.buffer();
            own.close();
            for (Future<ConstantTensorCache.Lookup<Piece>> other : waiting) {
                try (ConstantHold<Piece> shared = hit(other)) {
                    assertSame(piece, shared.buffer());
                    assertFalse(piece.isFreed());
                    assertFalse(shared.isCached());
                }
            }
            assertTrue(piece.isFreed());
        }
    }

    @Test
    @DisplayName("a removed promise does not prevent another computation of the tensor, which is"
            + " cached")
    void anewWhileMaking() {
        ConstantPromise<Piece> old = promise(cache);
        cache.removeIfExist(key("k"));
        try (ConstantHold<Piece> anew = memory.take(cache, "k", 1)) {
            ConstantHold<Piece> late = old.fulfil(memory.allocate("late", MEGABYTE));
            assertFalse(late.isCached());
            late.close();
            assertTrue(anew.isCached());
        }
        assertEquals(MEGABYTE, cache.statistics().bytes());
    }

    @Test
    @DisplayName("a promise ends once: a later tensor is rejected and stays the caller's")
    void endsOnce() {
        ConstantPromise<Piece> promise = promise(cache);
        promise.close();
        Piece late = memory.allocate("late", MEGABYTE);
        assertThrows(IllegalStateException.class, () -> promise.fulfil(late));
        assertFalse(late.isFreed());
        late.close();
        ConstantPromise<Piece> second = promise(cache);
        second.fulfil(memory.allocate("k", MEGABYTE)).close();
        second.fail(new Exception("too late"));
        second.close();
        assertTrue(cache.isCached(key("k")));
        assertEquals(1, cache.statistics().failed());
    }

    @Test
    @DisplayName("a lookup of a tensor promised by the same thread fails instead of hanging;"
            + " another thread may fulfil it")
    void ownPromise() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        assertThrows(IllegalStateException.class, () -> cache.<Piece>getOrAdd(key("k"), MEGABYTE));
        threads.submit(() -> promise.fulfil(memory.allocate("k", MEGABYTE)).close())
                .get();
        memory.use(cache, "k", 1);
        assertEquals(1, memory.allocated());
    }

    @Test
    @DisplayName("full: each caller gets a private promise, none waits")
    void full() throws Exception {
        caches.setLimit(EngineKind.GPU, Limit.of(0));
        ConstantPromise<Piece> first = promise(cache);
        ConstantPromise<Piece> second = promise(cache);
        try (ConstantHold<Piece> one = first.fulfil(memory.allocate("k", MEGABYTE));
                ConstantHold<Piece> two = second.fulfil(memory.allocate("k", MEGABYTE))) {
            assertFalse(one.isCached() || two.isCached());
        }
        assertEquals(2, cache.statistics().notKept());
    }

    @Test
    @DisplayName("two promises together never exceed the budget")
    void reserved() {
        caches.setLimit(EngineKind.GPU, Limit.of(3));
        ConstantPromise<Piece> first = promise(cache);
        ConstantTensorCache.Lookup<Piece> second = cache.getOrAdd(key("second"), 2 * MEGABYTE);
        ConstantTensorCache.Lookup<Piece> third = cache.getOrAdd(key("third"), MEGABYTE);
        assertEquals(3 * MEGABYTE, cache.statistics().promisedBytes());
        miss(third).fulfil(memory.allocate("third", MEGABYTE)).close();
        miss(second).fulfil(memory.allocate("second", 2 * MEGABYTE)).close();
        first.fulfil(memory.allocate("k", MEGABYTE)).close();
        assertEquals(3 * MEGABYTE, cache.statistics().bytes());
        assertFalse(cache.isCached(key("third")));
    }
}
