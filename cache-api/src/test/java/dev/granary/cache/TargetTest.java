package dev.granary.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** Tests of targets and of their names in paths. */
class TargetTest {
    private static void assertIsSafe(String name) {
        assertTrue(name.matches("[a-z0-9][a-z0-9._-]*"), name);
        assertTrue(name.getBytes(StandardCharsets.UTF_8).length <= 200, name);
    }

    @Test
    @DisplayName("the name of a target never changes, since buckets contain it")
    void golden() {
        Target target =
                new Target(Backend.OPENCL, "NVIDIA Corporation", "NVIDIA H200", "570.86.15");
        assertEquals("nvidia-corporation_nvidia-h200_570.86.15_65a7d3171a8c", target.name());
        assertEquals("opencl/" + target.name(), target.path());
    }

    @Test
    @DisplayName(
            "names are one path component, at most 200 bytes, and distinct for distinct targets")
    void names() {
        List<String> parts = List.of(
                "a",
                "A",
                "a ",
                " a",
                "a/b",
                "a\\b",
                "a b",
                "a-b",
                "a_b",
                "..",
                ".",
                "../..",
                "a/../b",
                "~",
                "CON",
                "a\0b",
                "a\nb",
                "ä",
                "ae",
                "中文",
                "\u202E",
                "\uD83D\uDE80",
                "x".repeat(60),
                "x".repeat(61),
                "x".repeat(5000),
                "İ",
                "ı",
                "%2e%2e",
                ".hidden",
                "-rf",
                "a.");
        Map<String, Target> seen = new HashMap<>();
        for (String part : parts) {
            for (Target target : List.of(
                    new Target(Backend.OPENCL, part, "d", "1"),
                    new Target(Backend.OPENCL, "v", part, "1"),
                    new Target(Backend.OPENCL, "v", "d", part),
                    new Target(Backend.LEVEL_ZERO, part, part, part))) {
                assertIsSafe(target.name());
                assertEquals(2, target.path().split("/", -1).length);
                assertEquals(
                        null,
                        seen.put(target.name(), target),
                        "two targets with one name: " + target);
            }
        }
    }

    @Test
    @DisplayName("names of random targets are safe and distinct")
    void randomNames() {
        SplittableRandom random = TestSeed.random(getClass().getName());
        Map<String, Target> seen = new HashMap<>();
        for (int i = 0; i < 3000; i++) {
            Target target = new Target(Backend.OPENCL, text(random), text(random), text(random));
            assertIsSafe(target.name());
            Target before = seen.put(target.name(), target);
            assertTrue(
                    before == null || before.equals(target),
                    () -> "two targets with one name: " + target);
        }
    }

    private static String text(SplittableRandom random) {
        StringBuilder text = new StringBuilder("!");
        for (int length = random.nextInt(100); length > 0; length--) {
            text.append((char)
                    (random.nextInt(3) == 0 ? random.nextInt(0xd800) : random.nextInt(32, 127)));
        }
        return text.toString();
    }

    @Test
    @DisplayName("a byte moved from one part to the next gives another target")
    void borders() {
        assertFalse(new Target(Backend.OPENCL, "ab", "c", "1")
                .name()
                .equals(new Target(Backend.OPENCL, "a", "bc", "1").name()));
    }

    @Test
    @DisplayName("a missing or invalid part is rejected, with advice in the message")
    void refused() {
        String blank = assertThrows(
                        IllegalArgumentException.class,
                        () -> new Target(Backend.OPENCL, "v", " ", "1"))
                .getMessage();
        assertTrue(
                String.valueOf(blank).contains("Target.UNKNOWN")
                        && String.valueOf(blank).contains("device"),
                blank);
        String half = assertThrows(
                        IllegalArgumentException.class,
                        () -> new Target(Backend.OPENCL, "v", "d", "\uDC00"))
                .getMessage();
        assertTrue(String.valueOf(half).contains("driver"), half);
    }

    @Test
    @DisplayName("backends are found by their exact stored names")
    void backends() {
        for (Backend backend : Backend.OWN) {
            assertEquals(Optional.of(backend), Backend.ofPath(backend.path()));
            assertEquals(Optional.of(backend), Backend.ownOf(backend.path()));
        }
        assertEquals(Optional.of(new Backend("cuda")), Backend.ofPath("cuda"));
        assertEquals(Optional.empty(), Backend.ownOf("cuda"));
        for (String wrong : List.of("OpenCL", "", "1st", "a/b", "..", "a.b", "x".repeat(31))) {
            assertEquals(Optional.empty(), Backend.ofPath(wrong));
            assertThrows(IllegalArgumentException.class, () -> new Backend(wrong));
        }
        assertEquals("opencl", Backend.OPENCL.path());
        assertEquals("level-zero", Backend.LEVEL_ZERO.path());
    }

    @Test
    @DisplayName("names are unchanged, and a part with a million marks has a name")
    void marks() {
        SplittableRandom random = TestSeed.random("marks");
        for (int i = 0; i < 2000; i++) {
            StringBuilder part = new StringBuilder("x");
            for (int left = random.nextInt(12); left > 0; left--) {
                part.insert(
                        random.nextInt(part.length() + 1),
                        ".-._ aZ9\u00e9".charAt(random.nextInt(9)));
            }
            String wanted = part.toString()
                    .toLowerCase(Locale.ROOT)
                    .replaceAll("[^a-z0-9.]+", "-")
                    .replaceAll("^[-.]+|[-.]+$", "");
            assertEquals(wanted, nameOfDevice(part.toString()));
        }
        String many = ".".repeat(1 << 20);
        // A quadratic search takes far longer.
        assertTimeoutPreemptively(Duration.ofMinutes(1), () -> {
            assertEquals("a" + many.substring(0, 59), nameOfDevice(many + "a" + many + "b" + many));
            assertEquals("x", nameOfDevice(many));
        });
    }

    private static String nameOfDevice(String device) {
        return new Target(Backend.OPENCL, "v", device, "d")
                .name()
                .replaceAll("^v_|_d_[0-9a-f]{12}$", "");
    }
}
