package dev.granary.s3.pack.format;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.random.RandomGenerator;

/**
 * A pack of format version 2 as stored in buckets: it stays readable, and is written byte for byte.
 * A golden file never changes; another version adds files. {@link #main} wrote it. Beside it are
 * those of {@code GoldenRegisterTest}, which name it.
 */
class GoldenPackTest {
    private static final String NAMESPACE = "opencl/some-device";
    private static final Sha256 FIRST = Sha256.of("first".getBytes(US_ASCII));
    private static final Sha256 SECOND = Sha256.of("second".getBytes(US_ASCII));

    private static PackBuilder.Pack pack() {
        RandomGenerator fixed = () -> 0x0123456789abcdefL;
        PackBuilder builder = new PackBuilder(NAMESPACE, fixed);
        builder.add(SECOND, "another entry".getBytes(US_ASCII), 42);
        builder.add(FIRST, "entry one".getBytes(US_ASCII), 1_000_000_007L);
        return builder.build();
    }

    private static byte[] file(String name) throws IOException {
        try (InputStream in =
                Objects.requireNonNull(GoldenPackTest.class.getResourceAsStream(name), name)) {
            return in.readAllBytes();
        }
    }

    @Test
    @DisplayName("a pack of version 2 is read, and written to the same byte, in the order of ids")
    void goldenPack() throws IOException {
        byte[] golden = file("v2.pack");
        assertArrayEquals(golden, pack().body());
        int indexOffset = PackIndex.HEADER_BYTES + "entry oneanother entry".length();
        PackIndex.Read read = PackIndex.decode(
                Arrays.copyOfRange(golden, indexOffset, golden.length), indexOffset, NAMESPACE);
        PackIndex index = assertThat(read).isOk();
        PackLocation first = index.find(FIRST).orElseThrow();
        assertEquals(
                "entry one", new String(golden, (int) first.offset(), first.length(), US_ASCII));
        assertEquals(1_000_000_007L, first.compileNanos());
        PackLocation second = index.find(SECOND).orElseThrow();
        assertEquals(
                "another entry",
                new String(golden, (int) second.offset(), second.length(), US_ASCII));
        assertEquals(2, index.size());
        List<Long> offsets =
                index.locations().stream().map(PackLocation::offset).toList();
        assertEquals(offsets.stream().sorted().toList(), offsets);
    }

    @Test
    @DisplayName("the keys of the head, of packs and bases")
    void keys() {
        TargetLayout keys = new BucketLayout(new S3Location("kernels", "team")).target(NAMESPACE);
        ObjectName name = new ObjectName(0x18bcfe568fL, FIRST);
        String text = "00000018bcfe568f-" + FIRST.hex();
        assertEquals("team/v2/opencl/some-device/head", keys.head());
        assertEquals("team/v2/opencl/some-device/p/" + text + ".pack", keys.pack(name));
        assertEquals("team/v2/opencl/some-device/m/" + text, keys.base(name));
        assertEquals(name, ObjectName.parse(text).orElseThrow());
        assertTrue(ObjectName.parse(text.substring(1)).isEmpty());
    }

    /** Writes the file of a new version into the given directory. */
    public static void main(String[] arguments) throws IOException {
        Files.write(Path.of(arguments[0]).resolve("v2.pack"), pack().body());
    }
}
