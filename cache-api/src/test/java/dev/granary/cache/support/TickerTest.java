package dev.granary.cache.support;

import static org.junit.jupiter.api.Assertions.assertNotSame;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Tests of the system's clock. */
class TickerTest {
    @Test
    @DisplayName("A scheduled event runs, on another thread")
    void after() throws Exception {
        CompletableFuture<Thread> event = new CompletableFuture<>();
        Ticker.SYSTEM.after(Duration.ofMillis(1), () -> event.complete(Thread.currentThread()));
        assertNotSame(Thread.currentThread(), event.get());
    }
}
