package dev.granary.coordinator.toml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.SplittableRandom;

/** Sanitized texts of files in messages. */
class SafeTextTest {
    @Test
    @DisplayName("the text from the first pair of slashes to the last @ is removed from a message")
    void credentials() {
        SplittableRandom random = TestSeed.random("credentials");
        for (int i = 0; i < 2000; i++) {
            StringBuilder text = new StringBuilder();
            for (int remaining = random.nextInt(12); remaining > 0; remaining--) {
                text.append("//@:ab ".charAt(random.nextInt(7)));
            }
            assertEquals(
                    text.toString().replaceAll("//.*@", "//...@"),
                    SafeText.ofFile(text.toString()));
        }
        assertEquals("s3://...@x", SafeText.ofFile("s3://u:\np@y //z@x"));
    }

    @Test
    @DisplayName("a key of a million slashes is sanitized in linear time")
    void slashes() {
        // a quadratic search takes far longer
        assertTimeoutPreemptively(
                Duration.ofMinutes(1),
                () -> assertEquals("/".repeat(200) + "...", SafeText.ofFile("/".repeat(1 << 20))));
    }
}
