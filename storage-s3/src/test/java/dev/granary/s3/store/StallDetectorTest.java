package dev.granary.s3.store;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What counts as progress of a request, apart from time. */
class StallDetectorTest {
    private static final int ENOUGH = 1024;

    private final TrafficCounter traffic = new TrafficCounter();

    @Test
    @DisplayName("S5 bytes that drip are no progress: each 1,024 are, however they come, and the head of an answer is none of a bucket")
    void progress() {
        try (StallDetector detector = new StallDetector(Duration.ofHours(1), traffic); StallDetector.Watch watch = detector.watch(() -> {})) {
            watch.answered();
            for (int piece = 1; piece <= 3; piece++) {
                long before = traffic.progress();
                for (int i = 1; i < ENOUGH; i++) {
                    watch.came(1);
                    assertEquals(before, traffic.progress(), "after " + i);
                }
                watch.moved(1);
                assertEquals(before + 1, traffic.progress());
            }
            watch.moved(100 * ENOUGH);
            assertEquals(4, traffic.progress());
            assertEquals(3 * (ENOUGH - 1), traffic.receivedBytes());
        }
    }

    @Test
    @DisplayName("S5 an exception of a request that was not aborted for want of progress is told as it is")
    void told() {
        try (StallDetector detector = new StallDetector(Duration.ofHours(1), traffic); StallDetector.Watch watch = detector.watch(() -> {})) {
            IOException reset = new IOException("reset");
            assertEquals(reset, watch.told(reset));
        }
    }
}
