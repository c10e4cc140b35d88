package dev.granary.coordinator.tier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Deadline;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Tests of the start of a layer's client in the background. */
class LayerStartTest {
    private static final Deadline LONG = Deadline.after(Duration.ofMinutes(1));

    private final AtomicLong now = new AtomicLong();

    /** Returns a start that ends when {@code go} is open. */
    private LayerStart waiting(CountDownLatch go, int waitSeconds) {
        return new LayerStart(
                () -> {
                    try {
                        go.await();
                        return Optional.empty();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                },
                Duration.ofSeconds(waitSeconds).toNanos(),
                now::get);
    }

    @ParameterizedTest(name = "{0} s")
    @CsvSource({"0, 2", "2, 2", "300, 300"})
    @DisplayName("a start that hangs delays all lookups together by the wait, at least two seconds")
    @Timeout(60)
    void hangs(int waitSeconds, int expectedSeconds) {
        CountDownLatch go = new CountDownLatch(1);
        LayerStart start = waiting(go, waitSeconds);
        now.addAndGet(Duration.ofMinutes(1).toNanos());
        assertEquals(
                Optional.of("its client is still starting"),
                start.lookupObstacle(Deadline.after(Duration.ofMillis(1))));
        now.addAndGet(Duration.ofSeconds(expectedSeconds).toNanos() - 1_000_000);
        long before = System.nanoTime();
        assertTrue(start.lookupObstacle(Deadline.NONE).isPresent());
        assertTrue(System.nanoTime() - before >= 1_000_000, "the rest of the wait");
        now.addAndGet(1_000_000);
        for (int i = 0; i < 10; i++) {
            assertEquals(
                    Optional.of("its client is still starting"),
                    start.lookupObstacle(Deadline.NONE));
        }
        go.countDown();
        assertEquals(Optional.empty(), start.obstacle(Deadline.NONE));
        assertEquals(Optional.empty(), start.lookupObstacle(Deadline.NONE));
    }

    @Test
    @DisplayName("a load waits for the start, until its deadline at the latest")
    void waits() {
        CountDownLatch go = new CountDownLatch(1);
        LayerStart start = waiting(go, 2);
        assertEquals(
                Optional.of("its client is still starting"),
                start.obstacle(Deadline.after(Duration.ofMillis(1))));
        go.countDown();
        assertEquals(Optional.empty(), start.obstacle(LONG));
    }

    @Test
    @DisplayName("a layer that cannot be reached is tried again in the background, half a minute"
            + " later; meanwhile its cause is known at once")
    void again() {
        AtomicInteger starts = new AtomicInteger();
        LayerStart start = new LayerStart(
                () -> starts.incrementAndGet() == 1 ? Optional.of("refused") : Optional.empty(),
                0,
                now::get);
        for (int i = 0; i < 10; i++) {
            assertEquals(Optional.of("refused"), start.obstacle(LONG));
        }
        assertEquals(1, starts.get());
        now.addAndGet(Duration.ofSeconds(30).toNanos());
        assertEquals(Optional.of("refused"), start.obstacle(LONG));
        Await.holds(() -> start.obstacle(LONG).isEmpty());
        assertEquals(2, starts.get());
    }

    @Test
    @DisplayName("what a client library throws is a cause")
    void broken() {
        LayerStart start = new LayerStart(
                () -> {
                    throw new NoClassDefFoundError("a.b.C");
                },
                0,
                now::get);
        String cause = start.obstacle(LONG).orElse("");
        assertTrue(cause.contains("a.b.C"), cause);
    }
}
