package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Tests of the preparation of all primitives that a program will need. */
class PreparationTest {
    private static final int COUNT = 20;
    private static final List<FakeDescriptor> ALL = IntStream.range(0, COUNT)
            .mapToObj(i -> FakeDescriptor.of("program " + i))
            .toList();

    private final TestNode node;
    private final FakeEngine engine = new FakeEngine("1");

    PreparationTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), new FakeBucket());
    }

    private static Preparation await(CompletableFuture<Preparation> preparation) throws Exception {
        return preparation.get(TestNode.LONG.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    @DisplayName("What the tiers have is restored before the first compile; progress counts up by"
            + " one; all is in memory then")
    void restoredFirst() throws Exception {
        try (Granary granary = node.open()) {
            for (FakeDescriptor stored : ALL.subList(0, COUNT / 2)) {
                granary.primitive(engine, stored);
            }
        }
        List<Preparation> states = Collections.synchronizedList(new ArrayList<>());
        try (Granary granary = node.open()) {
            assertEquals(
                    new Preparation(COUNT, COUNT / 2, COUNT / 2, Map.of()),
                    await(granary.prepare(engine, ALL, states::add)));
            assertEquals(
                    IntStream.rangeClosed(1, COUNT).boxed().toList(),
                    states.stream().map(Preparation::done).toList());
            for (Preparation state : states) {
                assertTrue(state.compiled() == 0 || state.found() == COUNT / 2, state::toString);
            }
            for (FakeDescriptor each : ALL) {
                assertEquals(
                        PrimitiveSource.MEMORY, granary.lookup(engine, each).source());
            }
        }
        assertEquals(COUNT, engine.compiles.get());
    }

    @Test
    @DisplayName("Several primitives are compiled at once")
    void parallel() throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        engine.beforeCompile = () -> {
            both.countDown();
            try {
                assertTrue(both.await(TestNode.LONG.toSeconds(), TimeUnit.SECONDS));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        Assumptions.assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "one processor");
        try (Granary granary = node.open()) {
            assertEquals(
                    2,
                    await(granary.prepare(engine, ALL.subList(0, 2), _ -> {})).compiled());
        }
    }

    @Test
    @DisplayName("A source that does not compile is a failure with its cause; the others are ready")
    void failure() throws Exception {
        FakeDescriptor wrong = FakeDescriptor.of("wrong");
        List<FakeDescriptor> descriptors = new ArrayList<>(ALL);
        descriptors.add(COUNT / 2, wrong);
        try (Granary granary = node.open()) {
            Preparation end = await(granary.prepare(engine, descriptors, _ -> {}));
            assertEquals(COUNT, end.compiled());
            assertEquals(COUNT + 1, end.done());
            assertEquals(Set.of(wrong), end.failures().keySet());
            assertEquals("line 1: error", end.failures().get(wrong).buildLog());
        }
    }

    @Test
    @DisplayName("A cancelled preparation begins no further lookup")
    void cancelled() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        engine.beforeCompile = () -> {
            started.countDown();
            try {
                assertTrue(go.await(TestNode.LONG.toSeconds(), TimeUnit.SECONDS));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        try (Granary granary = node.open()) {
            CompletableFuture<Preparation> preparation = granary.prepare(engine, ALL, _ -> {});
            started.await();
            preparation.cancel(false);
            go.countDown();
            assertThrows(CancellationException.class, preparation::join);
        }
        assertTrue(
                engine.compiles.get() <= Runtime.getRuntime().availableProcessors(),
                () -> "compiled " + engine.compiles);
    }

    @Test
    @DisplayName("It fails if the cache is closed, or the listener throws an exception")
    void broken() throws Exception {
        Granary granary = node.open();
        CompletableFuture<Preparation> preparation = granary.prepare(engine, ALL, _ -> {
            throw new IllegalStateException("this listener has a bug");
        });
        ExecutionException broken =
                assertThrows(ExecutionException.class, () -> await(preparation));
        assertEquals("this listener has a bug", broken.getCause().getMessage());
        engine.beforeCompile = granary::close;
        CompletableFuture<Preparation> closed = granary.prepare(engine, ALL, _ -> {});
        assertInstanceOf(
                IllegalStateException.class,
                assertThrows(ExecutionException.class, () -> await(closed)).getCause());
        assertThrows(IllegalStateException.class, () -> granary.prepare(engine, ALL, _ -> {}));
        assertEquals(0, granary.statistics().count(Counter.COMPILE_FAILURES));
    }
}
