package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.testing.Await;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.lwjgl.opencl.CL10;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;

/** Tests of asynchronous launches on PoCL. */
@NeedsPocl
class AsyncLaunchTest {
    private static final int COUNT = 64;
    private static final Geometry ALL = Geometry.of(COUNT).local(16);

    // "fixed" has the group size that PoCL's launch lock is for
    private static final String SOURCE = """
        kernel void grow(global int* data, int factor, int term) {
            data[get_global_id(0)] = data[get_global_id(0)] * factor + term;
        }
        kernel __attribute__((reqd_work_group_size(16, 1, 1)))
        void fixed(global int* data, int factor, int term) {
            data[get_global_id(0)] = data[get_global_id(0)] * factor + term;
        }
        """;

    private final SpyBinding spy = new SpyBinding();

    private static KernelDescriptor descriptor(OpenClEngine engine) {
        return KernelDescriptor.builder(engine.target(), "grow").source(SOURCE).build();
    }

    private static OpenClKernels kernels(OpenClEngine engine) throws Exception {
        return engine.load(engine.create(descriptor(engine)));
    }

    private static int[] filled(int value) {
        int[] all = new int[COUNT];
        Arrays.fill(all, value);
        return all;
    }

    /** Returns the number of native events that were not released. */
    private long events() {
        return spy.alive().keySet().stream()
                .filter(object -> object.startsWith("event "))
                .count();
    }

    private static void check(int expected, OpenClBuffer data) {
        int[] out = new int[COUNT];
        data.read(out);
        assertArrayEquals(filled(expected), out);
    }

    @Test
    @DisplayName("Launches of a queue in order follow each other, and numbers are copied")
    void inOrder() throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), spy.binding());
                OpenClKernels kernels = kernels(engine);
                OpenClBuffer data = engine.bufferOf(filled(1))) {
            OpenClEvent last = kernels.launchAsync("grow", ALL, List.of(), data, 1, 0);
            int expected = 1;
            for (int i = 1; i < 20; i++) {
                String kernel = i % 2 == 0 ? "grow" : "fixed";
                last = kernels.launchAsync(kernel, ALL, List.of(), data, 3, i);
                expected = expected * 3 + i;
            }
            last.await();
            assertTrue(last.isDone());
            assertTrue(last.retainHandle().isEmpty());
            assertTrue(last.await(Duration.ZERO));
            check(expected, data);
            kernels.launch("grow", ALL, data, 0, 5);
            check(5, data);
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("A wait has a deadline, an interrupt ends it, and the launch goes on")
    void deadline() throws Exception {
        try (LwjglContext application = LwjglContext.inOrder();
                OpenClEngine engine = application.wrap(spy.binding());
                OpenClKernels kernels = kernels(engine);
                OpenClBuffer data = engine.bufferOf(filled(1));
                LwjglContext.Gate gate = application.gate()) {
            OpenClEvent launch = kernels.launchAsync(
                    "grow", ALL, List.of(engine.marker(gate.event)), data, 2, 1);
            assertFalse(launch.isDone());
            assertFalse(launch.await(Duration.ofMillis(5)));
            assertFalse(launch.await(Duration.ZERO));
            assertFalse(launch.await(Duration.ofSeconds(-1)));
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, launch::await);
            assertTrue(launch.toString().contains("pending"), launch.toString());
            gate.open();
            assertTrue(launch.await(Duration.ofDays(100_000)));
            check(3, data);
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("Buffers, kernels and the primitive may be closed and collected while the launch"
            + " waits: memory stays until it has completed, and no longer")
    void argumentsStay() throws Exception {
        try (LwjglContext application = LwjglContext.outOfOrder();
                OpenClEngine engine = application.wrap(spy.binding())) {
            for (String kernel : List.of("grow", "fixed")) {
                OpenClBuffer data = engine.bufferOf(filled(1));
                long memory = data.handle();
                LwjglContext.check(CL10.clRetainMemObject(memory)); // to read it
                try (LwjglContext.Gate gate = application.gate()) {
                    OpenClEvent launch;
                    try (OpenClKernels kernels = kernels(engine)) {
                        launch = kernels.launchAsync(
                                kernel, ALL, List.of(engine.marker(gate.event)), data, 2, 1);
                    }
                    data.close();
                    assertThrows(IllegalStateException.class, data::handle);
                    assertTrue(isAlive("buffer " + memory), "released in use");
                    assertTrue(isAlive("kernel "), "released in use");
                    gate.open();
                    launch.await();
                }
                Await.holds(() -> !isAlive("buffer " + memory) && !isAlive("kernel "));
                try (OpenClBuffer again = engine.wrapBuffer(memory)) {
                    check(3, again);
                }
                LwjglContext.check(CL10.clReleaseMemObject(memory));
            }
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    private boolean isAlive(String prefix) {
        return spy.alive().keySet().stream().anyMatch(key -> key.startsWith(prefix));
    }

    @Test
    @DisplayName("In a queue out of order, launches wait for their events only, and complete in any"
            + " order")
    void outOfOrder() throws Exception {
        try (LwjglContext application = LwjglContext.outOfOrder();
                OpenClEngine engine = application.wrap(spy.binding());
                OpenClKernels kernels = kernels(engine);
                OpenClBuffer one = engine.bufferOf(filled(1));
                OpenClBuffer two = engine.bufferOf(filled(1));
                LwjglContext.Gate gate = application.gate()) {
            OpenClEvent first =
                    kernels.launchAsync("grow", ALL, List.of(engine.marker(gate.event)), one, 2, 1);
            OpenClEvent after = kernels.launchAsync("grow", ALL, List.of(first), one, 10, 0);
            OpenClEvent free = kernels.launchAsync("grow", ALL, List.of(), two, 5, 5);
            CountDownLatch isFree = new CountDownLatch(1);
            free.completion().thenRun(isFree::countDown);
            isFree.await();
            assertFalse(first.isDone());
            assertFalse(after.isDone());
            gate.open();
            after.await();
            first.await();
            check(30, one);
            check(10, two);
            // an event that has ended is no reason to wait
            kernels.launchAsync("grow", ALL, List.of(first, free, after), two, 0, 7)
                    .await();
            check(7, two);
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("A failure of the execution reaches all waiters, dependent actions and launches,"
            + " and later launches work")
    void failures() throws Exception {
        for (boolean outOfOrder : List.of(true, false)) {
            try (LwjglContext application =
                            outOfOrder ? LwjglContext.outOfOrder() : LwjglContext.inOrder();
                    OpenClEngine engine = application.wrap(spy.binding());
                    OpenClKernels kernels = kernels(engine);
                    OpenClBuffer data = engine.bufferOf(filled(1));
                    LwjglContext.Gate gate = application.gate()) {
                OpenClEvent marker = engine.marker(gate.event);
                OpenClEvent launch = kernels.launchAsync("fixed", ALL, List.of(marker), data, 2, 1);
                OpenClEvent dependent =
                        kernels.launchAsync("grow", ALL, List.of(launch), data, 2, 1);
                AtomicReference<Throwable> seen = new AtomicReference<>();
                CountDownLatch isSeen = new CountDownLatch(1);
                launch.completion().whenComplete((_, failure) -> {
                    seen.set(failure);
                    isSeen.countDown();
                });
                try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
                    Future<OpenClException> waiter = threads.submit(
                            () -> assertThrows(OpenClException.class, launch::await));
                    gate.fail();
                    OpenClException failure = waiter.get();
                    assertTrue(
                            String.valueOf(failure.getMessage())
                                    .startsWith("The launch of fixed failed with execution status"),
                            failure.getMessage());
                    assertTrue(failure.code() < 0);
                }
                isSeen.await();
                assertTrue(
                        seen.get() instanceof CompletionException failure
                                && failure.getCause() instanceof OpenClException,
                        String.valueOf(seen.get()));
                assertThrows(OpenClException.class, dependent::await);
                assertThrows(OpenClException.class, () -> dependent.await(Duration.ofSeconds(100)));
                OpenClEvent late = kernels.launchAsync("grow", ALL, List.of(dependent), data, 2, 1);
                assertTrue(late.isDone());
                assertThrows(OpenClException.class, late::await);
                kernels.launchAsync("fixed", ALL, List.of(), data, 3, 1).await();
                kernels.launch("grow", ALL, data, 1, 1);
                check(5, data);
            }
            // the events of failed commands are released a second later
            Await.holds(() -> spy.alive().isEmpty());
        }
    }

    @Test
    @DisplayName("A launch that waits throws the failure of its execution, and holds nothing")
    void failureOfWaitingLaunch() throws Exception {
        try (LwjglContext application = LwjglContext.inOrder();
                OpenClEngine engine = application.wrap(spy.binding());
                OpenClKernels kernels = kernels(engine);
                OpenClBuffer data = engine.bufferOf(filled(1));
                LwjglContext.Gate gate = application.gate()) {
            OpenClEvent blocked = engine.marker(gate.event);
            try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
                Future<OpenClException> launch = threads.submit(() -> assertThrows(
                        OpenClException.class, () -> kernels.launch("fixed", ALL, data, 2, 1)));
                Await.holds(() -> events() == 2); // the marker's, and the launch's
                gate.fail();
                OpenClException failure = launch.get();
                assertTrue(
                        String.valueOf(failure.getMessage())
                                .startsWith("A kernel failed with execution status"),
                        failure.getMessage());
                assertTrue(failure.code() < 0);
            }
            assertThrows(OpenClException.class, blocked::await);
            kernels.launch("fixed", ALL, data, 3, 1);
            check(4, data);
        }
        // the events of failed commands are released a second later
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("A refused launch throws at once and holds nothing")
    void refused() throws Exception {
        try (LwjglContext stranger = LwjglContext.inOrder();
                OpenClEngine foreign = stranger.wrap();
                OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), spy.binding());
                OpenClKernels kernels = kernels(engine)) {
            OpenClBuffer data = engine.bufferOf(filled(1));
            OpenClBuffer other = foreign.buffer(4L * COUNT);
            OpenClEvent event = foreign.marker();
            List<Class<? extends Exception>> expected =
                    List.of(IllegalArgumentException.class, OpenClException.class);
            List<Callable<OpenClEvent>> wrong = List.of(
                    () -> kernels.launchAsync("grow", ALL, List.of(), data, 1),
                    () -> kernels.launchAsync("grow", ALL, List.of(), data, 1, "one"),
                    () -> kernels.launchAsync("grow", ALL, List.of(), other, 1, 1),
                    () -> kernels.launchAsync("grow", ALL, List.of(event), data, 1, 1),
                    () -> kernels.launchAsync("none", ALL, List.of(), data, 1, 1),
                    () -> kernels.launchAsync(
                            "fixed", Geometry.of(COUNT).local(32), List.of(), data, 1, 1),
                    () -> engine.marker(0));
            for (Callable<OpenClEvent> call : wrong) {
                Exception failure = assertThrows(Exception.class, call::call);
                assertTrue(
                        expected.stream().anyMatch(type -> type.isInstance(failure)),
                        failure.toString());
            }
            data.close();
            assertFalse(isAlive("buffer "));
            Await.holds(() -> !isAlive("event "));
            // the launch lock is free again
            assertFalse(engine.create(descriptor(engine))
                    .getBinaries(BinaryKind.KERNEL)
                    .isEmpty());
            OpenClKernels closedKernels = kernels(engine);
            closedKernels.close();
            assertThrows(
                    IllegalStateException.class,
                    () -> closedKernels.launchAsync("grow", ALL, List.of(), data, 1, 1));
            OpenClEngine closedEngine = OpenClEngine.open(PoclDevice.get(), spy.binding());
            closedEngine.close();
            assertThrows(IllegalStateException.class, closedEngine::marker);
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("Closing the engine waits for launches in progress, and an action after a launch"
            + " may close it")
    void closing() throws Exception {
        for (int i = 0; i < 20; i++) {
            OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), spy.binding());
            OpenClKernels kernels = kernels(engine);
            OpenClBuffer data = engine.bufferOf(filled(1));
            List<OpenClEvent> events = new ArrayList<>();
            for (int k = 0; k < 10; k++) {
                events.add(kernels.launchAsync("fixed", ALL, List.of(), data, 3, 1));
            }
            CountDownLatch isClosed = new CountDownLatch(1);
            events.get(i % 10).completion().thenRun(() -> {
                engine.close();
                isClosed.countDown();
            });
            if (i % 2 == 0) {
                engine.close();
            }
            isClosed.await();
            for (OpenClEvent event : events) {
                event.await();
            }
            kernels.close();
            data.close();
            Await.holds(() -> spy.alive().isEmpty());
        }
    }

    @Test
    @DisplayName("Binaries that wait for a launch are complete after an asynchronous one")
    void completesBinaries() throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), spy.binding());
                OpenClBuffer data = engine.bufferOf(filled(1))) {
            OpenClPrimitive primitive = engine.create(descriptor(engine));
            CountDownLatch complete = new CountDownLatch(1);
            primitive.onBinariesComplete(complete::countDown);
            assertEquals(1, complete.getCount());
            try (OpenClKernels kernels = engine.load(primitive)) {
                kernels.launchAsync("grow", ALL, List.of(), data, 3, 1).await();
            }
            assertEquals(0, complete.getCount());
            assertEquals(List.of("grow@64/16"), primitive.geometries());
        }
    }

    @Test
    @DisplayName("Binaries can be taken while launches of a required group size are in progress")
    void takenMeanwhile() throws Exception {
        try (LwjglContext application = LwjglContext.outOfOrder();
                OpenClEngine engine = application.wrap(spy.binding());
                ExecutorService threads = Executors.newFixedThreadPool(1)) {
            OpenClPrimitive primitive = engine.create(descriptor(engine));
            try (OpenClKernels kernels = engine.load(primitive);
                    OpenClBuffer data = engine.bufferOf(filled(1));
                    OpenClBuffer other = engine.bufferOf(filled(1));
                    LwjglContext.Gate gate = application.gate()) {
                OpenClEvent waiting = kernels.launchAsync(
                        "fixed", ALL, List.of(engine.marker(gate.event)), data, 2, 1);
                Future<Boolean> taken = threads.submit(
                        () -> primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
                // neither launch waits for the taker, which waits for the one behind the gate
                kernels.launchAsync("fixed", ALL, List.of(), other, 2, 1).await();
                kernels.launch("fixed", ALL, other, 2, 1);
                gate.open();
                waiting.await();
                assertFalse(taken.get());
                check(3, data);
                check(7, other);
            }
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("The application waits for a launch by its native event, and launches wait for"
            + " the application's")
    void applicationsEvents() throws Exception {
        try (LwjglContext application = LwjglContext.outOfOrder();
                OpenClEngine engine = application.wrap(spy.binding());
                OpenClKernels kernels = kernels(engine);
                OpenClBuffer data = engine.bufferOf(filled(1));
                LwjglContext.Gate gate = application.gate()) {
            OpenClEvent launch = kernels.launchAsync(
                    "grow", ALL, List.of(engine.marker(gate.event)), data, 2, 1);
            long event = launch.retainHandle().orElseThrow();
            gate.open();
            application.read(data.handle(), COUNT, event);
            engine.marker(event).await();
            spy.binding().queues().releaseEvent(event);
            check(3, data);
            engine.marker().await();
        }
        Await.holds(() -> spy.alive().isEmpty());
    }

    @Test
    @DisplayName("A storm of launches, dependencies, closed buffers and engines in eight threads:"
            + " right results, and nothing leaks")
    void storm() throws Exception {

        for (boolean outOfOrder : List.of(true, false)) {
            try (LwjglContext application =
                    outOfOrder ? LwjglContext.outOfOrder() : LwjglContext.inOrder()) {
                OpenClEngine shared = application.wrap(spy.binding());
                OpenClPrimitive primitive = shared.create(descriptor(shared));
                primitive.outliveEngine();
                try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
                    List<Future<Boolean>> ends = new ArrayList<>();
                    for (int t = 0; t < 8; t++) {
                        SplittableRandom random = TestSeed.random("storm " + t);
                        ends.add(threads.submit(() -> {
                            for (int round = 0; round < 15; round++) {
                                chain(application, shared, primitive, random);
                            }
                            return true;
                        }));
                    }
                    for (Future<Boolean> end : ends) {
                        assertTrue(end.get());
                    }
                }
                shared.close();
                Await.holds(() -> spy.alive().isEmpty());
                Await.holds(() -> application.retainedByOthers() == 0);
            }
        }
    }

    /** A chain of dependent launches on two engines of one context, with a known result. */
    private void chain(
            LwjglContext application,
            OpenClEngine shared,
            OpenClPrimitive primitive,
            SplittableRandom random)
            throws Exception {
        OpenClEngine engine = random.nextInt(4) == 0 ? application.wrap(spy.binding()) : shared;
        try (OpenClKernels kernels = engine.load(primitive);
                OpenClBuffer data = engine.bufferOf(filled(1))) {
            List<OpenClEvent> last = List.of();
            int expected = 1;
            for (int i = 0; i < 10; i++) {
                String kernel = random.nextBoolean() ? "grow" : "fixed";
                OpenClBuffer used = engine.wrapBuffer(data.handle());
                last = List.of(kernels.launchAsync(kernel, ALL, last, used, 3, i));
                expected = expected * 3 + i;
                used.close();
                if (random.nextInt(5) == 0) {
                    last.getFirst().await();
                }
                if (random.nextInt(20) == 0) {
                    shared.load(primitive).close();
                }
            }
            last.getFirst().completion().toCompletableFuture().join();
            check(expected, data);
        } catch (CompletionException e) {
            throw new AssertionError(e);
        } finally {
            if (engine != shared) {
                engine.close();
            }
        }
    }
}
