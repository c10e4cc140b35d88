package dev.granary.cache.constant;

import static dev.granary.cache.constant.FakeDeviceMemory.MEGABYTE;
import static dev.granary.cache.constant.FakeDeviceMemory.key;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.constant.FakeDeviceMemory.Piece;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A promise and those who wait for it: fulfilled, failed, closed, forgotten, waited for too long. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConstantPromiseTest {
    private static final int WAITERS = 8;

    private final FakeDeviceMemory memory = new FakeDeviceMemory();
    private final ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE, System::nanoTime, Duration.ofDays(1));
    private final ConstantTensorCache cache = caches.of(EngineKind.GPU, 0);
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void nothingLeaks() {
        threads.shutdownNow();
        caches.close();
        memory.assertAllFreed();
        assertEquals(0, cache.statistics().promisedBytes());
    }

    static void until(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("Interrupted: the test ran out of time");
            }
            LockSupport.parkNanos(100_000);
        }
    }

    private ConstantPromise<Piece> promise(ConstantTensorCache from) {
        return miss(from.getOrAdd(key("k"), MEGABYTE));
    }

    private static ConstantPromise<Piece> miss(ConstantLookup<Piece> found) {
        if (found instanceof ConstantLookup.Miss<Piece> miss) {
            return miss.promise();
        }
        throw new AssertionError("no miss: " + found);
    }

    /** Eight threads that wait for the promised tensor when this returns. */
    private List<Future<ConstantLookup<Piece>>> waiters() {
        List<Future<ConstantLookup<Piece>>> waiting = new ArrayList<>();
        Callable<ConstantLookup<Piece>> ask = () -> cache.getOrAdd(key("k"), MEGABYTE);
        for (int i = 0; i < WAITERS; i++) {
            waiting.add(threads.submit(ask));
        }
        until(() -> cache.waiting(key("k")) == WAITERS);
        return waiting;
    }

    private static ConstantHold<Piece> hit(Future<ConstantLookup<Piece>> future) throws Exception {
        return switch (future.get()) {
            case ConstantLookup.Hit<Piece> hit -> hit.constant();
            case ConstantLookup.Miss<Piece> _, ConstantLookup.Failed<Piece> _ -> throw new AssertionError("no hit: " + future.get());
        };
    }

    @Test
    @DisplayName("M15 one of many has the miss and makes the tensor; the others wait and share it; its bytes are reserved meanwhile")
    void fulfilled() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        assertEquals(MEGABYTE, cache.statistics().promisedBytes());
        assertEquals(0, cache.getSize());
        List<Future<ConstantLookup<Piece>>> waiting = waiters();
        ConstantHold<Piece> mine = promise.fulfil(memory.allocate("k", MEGABYTE));
        assertEquals(0, cache.statistics().promisedBytes());
        for (Future<ConstantLookup<Piece>> other : waiting) {
            try (ConstantHold<Piece> theirs = hit(other)) {
                assertSame(mine.buffer(), theirs.buffer());
            }
        }
        mine.close();
        assertEquals(new ConstantStatistics(1, WAITERS, WAITERS, 0, 0, 0, 1, MEGABYTE, 0), cache.statistics());
    }

    @Test
    @DisplayName("M15 a failure reaches all who wait, nothing is kept, the next one makes it")
    void failed() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        List<Future<ConstantLookup<Piece>>> waiting = waiters();
        Exception cause = new Exception("checked");
        promise.fail(cause);
        for (Future<ConstantLookup<Piece>> other : waiting) {
            assertEquals(new ConstantLookup.Failed<Piece>(cause), other.get());
        }
        promise(cache).close();
    }

    @Test
    @DisplayName("M15 the maker's own exception comes out of get, also of those who waited: checked, unchecked and Error")
    void failedGet() throws Exception {
        for (Throwable cause : List.of(new IOException("checked"), new IllegalStateException("unchecked"), new StackOverflowError())) {
            ConstantPromise<Piece> promise = promise(cache);
            Callable<ConstantHold<Piece>> ask = () -> memory.take(cache, "k", 1);
            Future<ConstantHold<Piece>> other = threads.submit(ask);
            until(() -> cache.waiting(key("k")) == 1);
            promise.fail(cause);
            assertSame(cause, assertThrows(ExecutionException.class, other::get).getCause());
        }
        assertEquals(0, memory.allocated());
    }

    @Test
    @DisplayName("M15 a maker that fails while another waits: both get its exception, and neither makes it again")
    void failedMaker() throws Exception {
        IOException cause = new IOException("disk");
        Callable<ConstantHold<Piece>> make = () -> cache.get(key("k"), MEGABYTE, () -> {
            until(() -> cache.waiting(key("k")) == 1);
            throw cause;
        });
        Future<ConstantHold<Piece>> maker = threads.submit(make);
        until(() -> cache.statistics().promisedBytes() > 0);
        Callable<ConstantHold<Piece>> ask = () -> memory.take(cache, "k", 1);
        Future<ConstantHold<Piece>> other = threads.submit(ask);
        assertSame(cause, assertThrows(ExecutionException.class, maker::get).getCause());
        assertSame(cause, assertThrows(ExecutionException.class, other::get).getCause());
        assertEquals(0, memory.allocated());
    }

    @Test
    @DisplayName("M15 a promise that is closed unfulfilled: one of those who wait gets the miss, the others go on waiting")
    void closed() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        List<Future<ConstantLookup<Piece>>> waiting = waiters();
        promise.close();
        promise.close();
        assertOneMakesIt(waiting);
    }

    @Test
    @DisplayName("M15 a promise that is forgotten is found by the garbage collector: nobody hangs")
    void forgotten() throws Exception {
        Thread forgetful = Thread.ofPlatform().start(() -> cache.<Piece>getOrAdd(key("k"), MEGABYTE));
        forgetful.join();
        List<Future<ConstantLookup<Piece>>> waiting = waiters();
        until(() -> {
            System.gc();
            return waiting.stream().anyMatch(Future::isDone);
        });
        assertOneMakesIt(waiting);
    }

    private void assertOneMakesIt(List<Future<ConstantLookup<Piece>>> waiting) throws Exception {
        until(() -> waiting.stream().anyMatch(Future::isDone));
        Future<ConstantLookup<Piece>> first = waiting.stream().filter(Future::isDone).findFirst().orElseThrow();
        until(() -> cache.waiting(key("k")) == WAITERS - 1);
        miss(first.get()).fulfil(memory.allocate("k", MEGABYTE)).close();
        for (Future<ConstantLookup<Piece>> other : waiting) {
            if (other != first) {
                hit(other).close();
            }
        }
        assertEquals(1, memory.allocated());
        assertTrue(cache.isCached(key("k")));
    }

    @Test
    @DisplayName("M15 an interrupted waiter makes the tensor for itself, is still interrupted, and disturbs nobody")
    void interrupted() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        List<String> end = new ArrayList<>();
        Thread waiter = Thread.ofPlatform().start(() -> {
            try (ConstantHold<Piece> own = memory.take(cache, "k", 1)) {
                end.add("cached " + own.isCached() + ", interrupted " + Thread.currentThread().isInterrupted());
            }
        });
        until(() -> cache.waiting(key("k")) == 1);
        waiter.interrupt();
        waiter.join();
        assertEquals(List.of("cached false, interrupted true"), end);
        assertEquals(0, cache.waiting(key("k")));
        promise.fulfil(memory.allocate("k", MEGABYTE)).close();
        assertTrue(cache.isCached(key("k")));
        assertEquals(1, memory.live());
    }

    @Test
    @DisplayName("M15 who has waited longer than the longest wait makes the tensor for itself")
    void impatient() throws Exception {
        try (ConstantTensorCaches hasty = new ConstantTensorCaches(ConstantLimits.NONE, System::nanoTime, Duration.ofNanos(1))) {
            ConstantTensorCache hurried = hasty.of(EngineKind.GPU, 0);
            ConstantPromise<Piece> stuck = promise(hurried);
            threads.submit(() -> memory.use(hurried, "k", 1)).get();
            assertEquals(1, memory.allocated());
            assertFalse(hurried.isCached(key("k")));
            stuck.close();
        }
    }

    @Test
    @DisplayName("M15 who waits for a tensor that is removed, or whose context ends, before it is made gets it; it is not kept")
    void removedWhileMaking() throws Exception {
        for (Runnable removal : List.<Runnable>of(() -> assertTrue(cache.removeIfExist(key("k"))), () -> cache.removeContext(FakeDeviceMemory.CONTEXT))) {
            ConstantPromise<Piece> promise = promise(cache);
            List<Future<ConstantLookup<Piece>>> waiting = waiters();
            removal.run();
            assertEquals(0, cache.statistics().promisedBytes());
            ConstantHold<Piece> mine = promise.fulfil(memory.allocate("k", MEGABYTE));
            Piece piece = mine.buffer();
            mine.close();
            for (Future<ConstantLookup<Piece>> other : waiting) {
                try (ConstantHold<Piece> theirs = hit(other)) {
                    assertSame(piece, theirs.buffer());
                    assertFalse(piece.isFreed());
                    assertFalse(theirs.isCached());
                }
            }
            assertTrue(piece.isFreed());
        }
    }

    @Test
    @DisplayName("M15 while a removed tensor is still being made, another may make it anew, and that one is kept")
    void anewWhileMaking() {
        ConstantPromise<Piece> old = promise(cache);
        cache.removeIfExist(key("k"));
        try (ConstantHold<Piece> anew = memory.take(cache, "k", 1)) {
            ConstantHold<Piece> late = old.fulfil(memory.allocate("late", MEGABYTE));
            assertFalse(late.isCached());
            late.close();
            assertTrue(anew.isCached());
        }
        assertEquals(MEGABYTE, cache.getSize());
    }

    @Test
    @DisplayName("M15 a promise ends once: what is fulfilled afterwards is refused and stays the caller's")
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
    @DisplayName("M15 the thread that has promised a tensor and asks for it is told so instead of hanging; another thread may fulfil it")
    void ownPromise() throws Exception {
        ConstantPromise<Piece> promise = promise(cache);
        assertThrows(IllegalStateException.class, () -> cache.<Piece>getOrAdd(key("k"), MEGABYTE));
        threads.submit(() -> promise.fulfil(memory.allocate("k", MEGABYTE)).close()).get();
        memory.use(cache, "k", 1);
        assertEquals(1, memory.allocated());
    }

    @Test
    @DisplayName("M15 full: everybody gets a promise of his own, nobody waits for one that is not for the cache")
    void full() throws Exception {
        caches.setCapacity(EngineKind.GPU, 0);
        ConstantPromise<Piece> first = promise(cache);
        ConstantPromise<Piece> second = promise(cache);
        try (ConstantHold<Piece> one = first.fulfil(memory.allocate("k", MEGABYTE)); ConstantHold<Piece> two = second.fulfil(memory.allocate("k", MEGABYTE))) {
            assertFalse(one.isCached() || two.isCached());
        }
        assertEquals(2, cache.statistics().notKept());
    }

    @Test
    @DisplayName("M15 two promises never take more than the budget together")
    void reserved() {
        caches.setCapacity(EngineKind.GPU, 3);
        ConstantPromise<Piece> first = promise(cache);
        ConstantLookup<Piece> second = cache.getOrAdd(key("second"), 2 * MEGABYTE);
        ConstantLookup<Piece> third = cache.getOrAdd(key("third"), MEGABYTE);
        assertEquals(3 * MEGABYTE, cache.statistics().promisedBytes());
        miss(third).fulfil(memory.allocate("third", MEGABYTE)).close();
        miss(second).fulfil(memory.allocate("second", 2 * MEGABYTE)).close();
        first.fulfil(memory.allocate("k", MEGABYTE)).close();
        assertEquals(3 * MEGABYTE, cache.getSize());
        assertFalse(cache.isCached(key("third")));
    }
}
