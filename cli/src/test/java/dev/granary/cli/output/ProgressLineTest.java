package dev.granary.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** Tests of the progress line of the terminal. */
class ProgressLineTest {
    private final StringWriter shown = new StringWriter();

    private ProgressLine progress(boolean isTerminal) {
        return new ProgressLine(new PrintWriter(shown), "warming", 3, isTerminal);
    }

    /** Returns the line as the terminal shows it. */
    private String line() {
        String all = shown.toString();
        return all.substring(all.lastIndexOf('\r') + 1).strip();
    }

    @Test
    @SuppressWarnings("try") // closed within, to test calls after that
    @DisplayName("while a bucket is silent the line shows it, and then the progress again")
    void silence() {
        try (ProgressLine progress = progress(true)) {
            progress.at(0, "first");
            assertEquals("warming 1/3 first", line());
            assertTrue(progress.poll(Optional.of("waiting for s3://b: nothing received for 6 s")));
            assertEquals("warming: waiting for s3://b: nothing received for 6 s", line());
            progress.at(1, "second");
            assertEquals("warming: waiting for s3://b: nothing received for 6 s", line());
            assertTrue(progress.poll(Optional.empty()));
            assertEquals("warming 2/3 second", line());
            progress.close();
            assertEquals("", line());
            assertFalse(progress.poll(Optional.of("late")), "closed");
            assertEquals("", line());
        }
    }

    @Test
    @DisplayName("a thread polls while the work waits; without a terminal nothing is polled or"
            + " shown")
    void polled() throws Exception {
        // the second poll comes after the first was shown
        CountDownLatch seen = new CountDownLatch(2);
        try (ProgressLine progress = progress(true)) {
            progress.watching(() -> {
                seen.countDown();
                return Map.of("s3://b", Duration.ofSeconds(3));
            });
            seen.await();
        }
        assertTrue(
                shown.toString().contains("warming: waiting for s3://b: nothing received for 3 s"),
                shown::toString);
        shown.getBuffer().setLength(0);
        try (ProgressLine progress = progress(false)) {
            progress.watching(() -> {
                throw new AssertionError("polled");
            });
            progress.at(0, "first");
            progress.poll(Optional.of("waiting"));
        }
        assertEquals("", shown.toString());
    }

    @Test
    @DisplayName("the bucket with the longest silence is named, with its time; a short silence is"
            + " not reported")
    void longest() {
        assertEquals(Optional.empty(), ProgressLine.longest(Map.of()));
        Map<String, Duration> silence = new HashMap<>();
        silence.put("s3://first", Duration.ZERO);
        silence.put("s3://second", Duration.ofSeconds(2));
        assertEquals(Optional.empty(), ProgressLine.longest(silence));
        silence.put("s3://second", Duration.ofMillis(6100));
        assertEquals(
                Optional.of("waiting for s3://second: nothing received for 6 s"),
                ProgressLine.longest(silence));
        silence.put("s3://first", Duration.ofSeconds(7));
        assertEquals(
                Optional.of("waiting for s3://first: nothing received for 7 s"),
                ProgressLine.longest(silence));
    }
}
