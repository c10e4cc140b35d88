package dev.granary.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/** Tests of the monitor of silent buckets. */
class SilenceMonitorTest {
    @Test
    @DisplayName("the bucket with the longest stall is named, with its time; a short stall is not"
            + " reported")
    void longest() {
        AtomicReference<Duration> first = new AtomicReference<>(Duration.ZERO);
        AtomicReference<Duration> second = new AtomicReference<>(Duration.ofSeconds(2));
        SilenceMonitor monitor = new SilenceMonitor();
        assertEquals(Optional.empty(), monitor.longest());
        monitor.watch("s3://first", first::get);
        monitor.watch("s3://second", second::get);
        assertEquals(Optional.empty(), monitor.longest());
        second.set(Duration.ofMillis(6100));
        assertEquals(
                Optional.of("waiting for s3://second: nothing received for 6 s"),
                monitor.longest());
        first.set(Duration.ofSeconds(7));
        assertEquals(
                Optional.of("waiting for s3://first: nothing received for 7 s"), monitor.longest());
    }
}
