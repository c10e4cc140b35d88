package dev.granary.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.SplittableRandom;

/** Tests of parsing ids from untrusted bytes. */
class IdParseTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "pocl", "cpu-haswell", "6.0");
    private static final int HEAD = 6;

    private final byte[] good = Id.builder(TARGET)
            .field("options", "-cl-mad-enable")
            .field("bits", 64)
            .build()
            .bytes();
    private final int targetLength = Id.builder(TARGET).build().length();

    @Test
    @DisplayName("every truncation of an id is rejected, or is the valid id with fewer fields")
    void truncations() {
        for (int length = 0; length < good.length; length++) {
            Optional<Id> parsed = Id.parse(Arrays.copyOf(good, length));
            int position = length;
            assertEquals(
                    length == targetLength || length == targetLength + 4 + 7 + 4 + 14,
                    parsed.isPresent(),
                    () -> "at " + position);
        }
        assertTrue(Id.parse(good).isPresent());
    }

    @Test
    @DisplayName("an id with trailing bytes is rejected")
    void junk() {
        for (int more = 1; more < 20; more++) {
            byte[] longer = Arrays.copyOf(good, good.length + more);
            Arrays.fill(longer, good.length, longer.length, (byte) 0x7f);
            assertTrue(Id.parse(longer).isEmpty());
        }
    }

    @Test
    @DisplayName("hostile lengths at every offset: no exception, no allocation of that length")
    void hostileLengths() {
        for (int length :
                new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, 1 << 30, good.length}) {
            for (int at = 0; at + 4 <= good.length; at++) {
                byte[] bad = good.clone();
                ByteBuffer.wrap(bad).putInt(at, length);
                Id.parse(bad).ifPresent(id -> assertEquals(bad.length, id.length()));
            }
            byte[] first = good.clone();
            ByteBuffer.wrap(first).putInt(HEAD, length);
            assertTrue(Id.parse(first).isEmpty());
        }
    }

    @Test
    @DisplayName("an id with an unknown backend, a blank part or invalid text is rejected")
    void hostileTargets() {
        assertTrue(Id.parse(bytes("opencl", "v")).isPresent());
        assertTrue(Id.parse(bytes("OPENCL", "v")).isEmpty());
        assertTrue(Id.parse(bytes("", "v")).isEmpty());
        assertTrue(Id.parse(bytes("opencl", " ")).isEmpty());
        assertTrue(
                Id.parse(bytes("opencl", "\u00ff")).isEmpty(),
                "0xff is not UTF-8: it would decode to a replacement character");
    }

    private static byte[] bytes(String backend, String vendor) {
        Id.Encoder out = new Id.Encoder().raw(new byte[] {'G', 'R', 'I', 'D', 0, 1});
        String[] fields = {"backend", backend, "vendor", vendor, "device", "d", "driver", "1"};
        for (String field : fields) {
            out.bytes(field.getBytes(StandardCharsets.ISO_8859_1));
        }
        return out.toByteArray();
    }

    @Test
    @DisplayName("a list of empty fields is parsed without creating the fields")
    void manyEmptyFields() {
        byte[] many = Arrays.copyOf(good, targetLength + (16 << 20));
        Arrays.fill(many, targetLength, many.length, (byte) 0);
        assertEquals(many.length, Id.parse(many).orElseThrow().length());
        assertTrue(Id.parse(Arrays.copyOf(many, many.length - 1)).isEmpty());
        assertTrue(Id.parse(new byte[Id.MAX_BYTES + 1]).isEmpty());
    }

    @Test
    @DisplayName("random bytes and changes: no exception, and a parsed id has exactly those bytes")
    void random() {
        SplittableRandom random = TestSeed.random(getClass().getName());
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes;
            if (i % 4 == 0) {
                bytes = new byte[random.nextInt(200)];
                random.nextBytes(bytes);
            } else {
                bytes = good.clone();
                for (int changes = random.nextInt(1, 4); changes > 0; changes--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
                }
            }
            byte[] given = bytes.clone();
            Id.parse(bytes).ifPresent(id -> {
                assertTrue(Arrays.equals(given, id.bytes()));
                assertTrue(Id.builder(id.target()).build().length() <= given.length);
                assertTrue(id.fields().size() >= 4);
            });
        }
    }

    @Test
    @DisplayName("malformed names are rejected before a lookup")
    void names() {
        String good = Sha256.of(new byte[0]).hex();
        assertEquals("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", good);
        assertEquals(Sha256.of(new byte[0]), Sha256.parse(good));
        for (String bad : new String[] {
            "",
            good.substring(1),
            good + "0",
            good.toUpperCase(java.util.Locale.ROOT),
            " " + good.substring(1),
            "../" + good.substring(3),
            good.substring(1) + "\n",
            good.substring(1) + "g",
            good.substring(1) + "\uFF11",
            "x".repeat(1_000_000)
        }) {
            String message = String.valueOf(
                    assertThrows(IllegalArgumentException.class, () -> Sha256.parse(bad))
                            .getMessage());
            assertTrue(message.length() < 200, "the message is short for a name of any length");
        }
        assertThrows(IllegalArgumentException.class, () -> Sha256.ofDigest(new byte[31]));
        assertThrows(IllegalArgumentException.class, () -> Sha256.ofDigest(new byte[33]));
    }
}
