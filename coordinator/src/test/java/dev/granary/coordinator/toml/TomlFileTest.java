package dev.granary.coordinator.toml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.granary.testing.TestSeed;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Texts of files in messages. */
class TomlFileTest {
    @Test
    @DisplayName("F9 all from the first pair of slashes to the last @ is left out of a message")
    void credentials() {
        SplittableRandom random = TestSeed.random("credentials");
        for (int i = 0; i < 2000; i++) {
            StringBuilder text = new StringBuilder();
            for (int left = random.nextInt(12); left > 0; left--) {
                text.append("//@:ab ".charAt(random.nextInt(7)));
            }
            assertEquals(text.toString().replaceAll("//.*@", "//...@"), TomlFile.harmless(text.toString()));
        }
        assertEquals("s3://...@x", TomlFile.harmless("s3://u:\np@y //z@x"));
    }

    @Test
    @DisplayName("F12 a key of a million slashes is told in linear time")
    void slashes() {
        assertTimeoutPreemptively(Duration.ofMinutes(1), () -> // a quadratic search takes far longer
                assertEquals("/".repeat(200) + "...", TomlFile.harmless("/".repeat(1 << 20))));
    }
}
