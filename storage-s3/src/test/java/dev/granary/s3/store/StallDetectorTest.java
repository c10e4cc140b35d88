package dev.granary.s3.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** Tests of the progress of a request, without time. */
class StallDetectorTest {
    private static final int ENOUGH = 1024;

    private final TrafficCounter traffic = new TrafficCounter();

    @Test
    @DisplayName(
            "S5 dripping bytes are no progress: each 1,024 are, in any portions, and the head of a"
                    + " response is none of a bucket")
    void progress() {
        try (StallDetector detector = new StallDetector(Duration.ofHours(1), traffic);
                StallDetector.Watch watch = detector.watch(() -> {})) {
            watch.responseStarted();
            for (int piece = 1; piece <= 3; piece++) {
                long before = traffic.progress();
                for (int i = 1; i < ENOUGH; i++) {
                    watch.received(1);
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
    @DisplayName(
            "S5 a request is watched until its body is read to its end, or closed before; a second"
                    + " end has no effect")
    void ends() throws IOException {
        byte[] bytes = new byte[2];
        try (StallDetector detector = new StallDetector(Duration.ofHours(1), traffic)) {
            InputStream byByte = detector.watch(() -> {}).body(new ByteArrayInputStream(bytes));
            InputStream inPieces = detector.watch(() -> {}).body(new ByteArrayInputStream(bytes));
            InputStream leftEarly = detector.watch(() -> {}).body(new ByteArrayInputStream(bytes));
            while (byByte.read() >= 0) {
                assertEquals(3, traffic.inProgress());
            }
            assertEquals(2, traffic.inProgress());
            while (inPieces.read(bytes) >= 0) {
                assertEquals(2, traffic.inProgress());
            }
            assertEquals(1, traffic.inProgress());
            assertEquals(0, leftEarly.read());
            assertEquals(1, traffic.inProgress());
            for (InputStream body : List.of(leftEarly, byByte, inPieces, leftEarly)) {
                body.close();
                assertEquals(0, traffic.inProgress());
            }
        }
        assertEquals(5, traffic.receivedBytes());
    }

    /** Progress of a request within the limit. */
    enum Progress {
        /** The response begins. */
        HEAD,
        /** The required number of bytes moves. */
        BYTES
    }

    @ParameterizedTest
    @EnumSource(Progress.class)
    @DisplayName("S5 the limit restarts with the head of a response, and with each 1,024 bytes")
    void restarts(Progress event) {
        long limit = Duration.ofMillis(20).toNanos();
        AtomicBoolean isAborted = new AtomicBoolean();
        long longest = 0; // between two events of progress, as achieved by this thread
        long start = System.nanoTime();
        long last = start;
        try (StallDetector detector = new StallDetector(Duration.ofNanos(limit), traffic);
                StallDetector.Watch watch = detector.watch(() -> isAborted.set(true))) {
            while (System.nanoTime() - start < 5 * limit && !isAborted.get()) {
                long before = System.nanoTime();
                switch (event) {
                    case HEAD -> watch.responseStarted();
                    case BYTES -> watch.moved(ENOUGH);
                }
                longest = Math.max(longest, System.nanoTime() - last);
                last = before;
            }
            // this thread may have been suspended since
            longest = Math.max(longest, System.nanoTime() - last);
        }
        assertTrue(
                !isAborted.get() || longest >= limit,
                "aborted, although there was progress each " + longest + " ns");
    }

    @Test
    @DisplayName("S5 an exception of a request that was not aborted by the detector is unchanged")
    void unchangedException() {
        try (StallDetector detector = new StallDetector(Duration.ofHours(1), traffic);
                StallDetector.Watch watch = detector.watch(() -> {})) {
            IOException reset = new IOException("reset");
            assertEquals(reset, watch.translate(reset));
        }
    }
}
