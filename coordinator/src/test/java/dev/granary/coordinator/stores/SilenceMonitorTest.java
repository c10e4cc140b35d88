package dev.granary.coordinator.stores;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SilenceMonitorTest {
    @Test
    @DisplayName("S5 A9 the bucket that is silent longest is named, with its time; a short silence is not told")
    void longest() {
        AtomicReference<Duration> first = new AtomicReference<>(Duration.ZERO);
        AtomicReference<Duration> second = new AtomicReference<>(Duration.ofSeconds(2));
        SilenceMonitor waits = new SilenceMonitor();
        assertEquals(Optional.empty(), waits.longest());
        waits.watch("s3://first", first::get);
        waits.watch("s3://second", second::get);
        assertEquals(Optional.empty(), waits.longest());
        second.set(Duration.ofMillis(6100));
        assertEquals(Optional.of("waiting for s3://second: nothing came for 6 s"), waits.longest());
        first.set(Duration.ofSeconds(7));
        assertEquals(Optional.of("waiting for s3://first: nothing came for 7 s"), waits.longest());
    }
}
