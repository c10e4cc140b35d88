package dev.granary.s3.register;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.IdBloomFilter;
import dev.granary.s3.pack.format.PackInfo;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * A head and a base of format 1 as stored in buckets: they stay readable, and are written byte for
 * byte. A golden file never changes; another version adds files. {@link #main} wrote them.
 */
class GoldenRegisterTest {
    private static final long GENERATION = 1_700_000_000_007L;
    private static final Sha256 FIRST = Sha256.of("first".getBytes(US_ASCII));
    private static final Sha256 SECOND = Sha256.of("second".getBytes(US_ASCII));

    private static PackInfo pack(String name, List<Sha256> ids) {
        long indexOffset = 32 + 100L * ids.size();
        return new PackInfo(
                new ObjectName(GENERATION - 1, Sha256.of(name.getBytes(US_ASCII))),
                indexOffset + 56L * ids.size() + 64,
                indexOffset,
                ids.size(),
                Optional.of(IdBloomFilter.of(ids)));
    }

    private static Base base() {
        return Base.of(GENERATION - 2, List.of(pack("folded", List.of(FIRST, SECOND))));
    }

    private static Head head() {
        JsonObject unknown = new JsonObject();
        unknown.addProperty("later", "kept");
        return new Head(
                GENERATION,
                "00112233445566778899aabbccddeeff",
                GENERATION - 7,
                Optional.of(new Head.Candidate(GENERATION - 3, 1_700_000_000_000L)),
                Optional.of(base().name()),
                List.of(
                        pack("small", List.of(FIRST)),
                        pack("large", List.of(FIRST, SECOND)).with(Optional.empty())),
                List.of(new Head.Retired(new ObjectName(GENERATION - 5, FIRST), GENERATION - 1)),
                unknown);
    }

    private static byte[] file(String name) throws IOException {
        String path = "/dev/granary/s3/pack/format/" + name;
        try (InputStream in =
                Objects.requireNonNull(GoldenRegisterTest.class.getResourceAsStream(path), name)) {
            return in.readAllBytes();
        }
    }

    private static JsonElement json(byte[] encoded) {
        return JsonParser.parseString(new String(encoded, UTF_8));
    }

    @Test
    @DisplayName("a head of format 1 is read, and written to the same byte, with the field of a"
            + " later version")
    void goldenHead() throws IOException {
        byte[] golden = file("head-v1.json");
        assertArrayEquals(golden, head().encode());
        Head read = Head.decode(golden);
        assertEquals(json(golden), json(read.encode()));
        assertEquals(GENERATION, read.generation());
        assertEquals(GENERATION - 7, read.boundary());
        assertEquals(head().candidate(), read.candidate());
        assertEquals(Optional.of(base().name()), read.base());
        assertEquals(head().retired(), read.retired());
        PackInfo small = read.recent().getFirst();
        assertEquals(pack("small", List.of(FIRST)).name(), small.name());
        assertTrue(small.mayContain(FIRST));
        assertFalse(small.mayContain(SECOND));
        assertTrue(read.recent().getLast().filter().isEmpty());
    }

    @Test
    @DisplayName("a base of format 1 is read, and written to the same byte and name")
    void goldenBase() throws IOException {
        byte[] golden = file("base-v1.json");
        assertArrayEquals(golden, base().encoded());
        Base read = Base.decode(base().name(), golden);
        PackInfo pack = read.packs().getFirst();
        assertEquals(2, pack.entries());
        assertTrue(pack.mayContain(FIRST) && pack.mayContain(SECOND));
    }

    @Test
    @DisplayName("a head or base of a later format is refused, and is no loss that a repair may"
            + " replace")
    void later() throws IOException {
        byte[] head = new String(file("head-v1.json"), UTF_8)
                .replace("\"format\": 1", "\"format\": 2")
                .getBytes(UTF_8);
        assertFalse(
                assertThrows(RegisterException.class, () -> Head.decode(head)).isLoss());
        byte[] base = new String(file("base-v1.json"), UTF_8)
                .replace("\"format\":1", "\"format\":2")
                .getBytes(UTF_8);
        assertFalse(assertThrows(
                        RegisterException.class,
                        () -> Base.decode(new ObjectName(GENERATION, Sha256.of(base)), base))
                .isLoss());
    }

    /** Writes the files of a new version into the given directory. */
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        Files.write(directory.resolve("head-v1.json"), head().encode());
        Files.write(directory.resolve("base-v1.json"), base().encoded());
    }
}
