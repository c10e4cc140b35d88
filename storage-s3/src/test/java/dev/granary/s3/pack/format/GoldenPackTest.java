package dev.granary.s3.pack.format;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.manifest.PackManifest;

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
 * A pack and a manifest of version 1 as stored in buckets: they stay readable, and are written byte
 * for byte. A golden file never changes; another version adds files. {@link #main} wrote them.
 */
class GoldenPackTest {
    private static final String NAMESPACE = "opencl/some-device";
    private static final Sha256 FIRST = Sha256.of("first".getBytes(US_ASCII));
    private static final Sha256 SECOND = Sha256.of("second".getBytes(US_ASCII));

    private static Pack pack() {
        RandomGenerator fixed = () -> 0x0123456789abcdefL;
        PackBuilder builder = new PackBuilder(NAMESPACE, fixed);
        builder.add(FIRST, "entry one".getBytes(US_ASCII), 1_000_000_007L);
        builder.add(SECOND, "another entry".getBytes(US_ASCII), 42);
        return builder.build();
    }

    private static PackManifest manifest() {
        PackManifest one = PackManifest.NONE.plus(pack().info());
        return new PackManifest(
                2,
                PackManifest.UnpackedEntries.NONE,
                one.packs(),
                List.of(new PackManifest.Retired(FIRST, 2)));
    }

    private static byte[] file(String name) throws IOException {
        try (InputStream in =
                Objects.requireNonNull(GoldenPackTest.class.getResourceAsStream(name), name)) {
            return in.readAllBytes();
        }
    }

    @Test
    @DisplayName("D6 a pack of version 1 is read, and written to the same byte")
    void goldenPack() throws IOException {
        byte[] golden = file("v1.pack");
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
    }

    @Test
    @DisplayName("D6 a manifest of version 1 is read, and written to the same byte")
    void goldenManifest() throws IOException {
        byte[] golden = file("v1.manifest");
        assertArrayEquals(golden, manifest().encode());
        PackManifest read = assertThat(PackManifest.decode(golden)).isOk();
        assertEquals(2, read.number());
        assertEquals(PackManifest.UnpackedEntries.NONE, read.unpackedEntries());
        assertEquals(List.of(new PackManifest.Retired(FIRST, 2)), read.retired());
        PackInfo pack = read.packs().getFirst();
        assertEquals(pack().info().name(), pack.name());
        assertEquals(1, pack.since());
        assertEquals(
                List.of(true, true),
                List.of(pack.filter().mayContain(FIRST), pack.filter().mayContain(SECOND)));
    }

    @Test
    @DisplayName("K15 the keys of packs, manifests and the hint")
    void keys() {
        TargetLayout keys = new TargetLayout("team/v1/", NAMESPACE);
        assertEquals("team/v1/opencl/some-device/p/" + FIRST.hex() + ".pack", keys.pack(FIRST));
        assertEquals("team/v1/opencl/some-device/m/0000000000000042", keys.manifest(42));
        assertEquals("team/v1/opencl/some-device/m/newest", keys.hint());
    }

    /** Writes the files of a new version into the given directory. */
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        Files.write(directory.resolve("v1.pack"), pack().body());
        Files.write(directory.resolve("v1.manifest"), manifest().encode());
    }
}
