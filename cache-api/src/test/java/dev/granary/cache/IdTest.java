package dev.granary.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of ids: bytes, equality and hash. */
class IdTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "pocl", "cpu-haswell", "6.0");

    private static Id id(String... values) {
        Id.Builder builder = Id.builder(TARGET);
        for (int i = 0; i < values.length; i++) {
            builder.field("f" + i, values[i]);
        }
        return builder.build();
    }

    @Test
    @DisplayName("equal fields in two threads: identical bytes and hashes, equal ids")
    void twoThreads() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Callable<List<Id>> make = IdSamples::all;
            List<Future<List<Id>>> both = threads.invokeAll(List.of(make, make));
            List<Id> first = both.get(0).get();
            List<Id> second = both.get(1).get();
            assertEquals(first, second);
            for (int i = 0; i < first.size(); i++) {
                assertArrayEquals(first.get(i).bytes(), second.get(i).bytes());
                assertEquals(first.get(i).hashCode(), second.get(i).hashCode());
                assertEquals(first.get(i).hash(), second.get(i).hash());
            }
        }
    }

    @Test
    @DisplayName("two JVMs with different encoding, locale, line ends, hash seed and directory:"
            + " identical bytes")
    void twoJvms(@TempDir Path elsewhere) throws Exception {
        ChildJvm.Result there = ChildJvm.of(IdSamples.class)
                .directory(elsewhere)
                .mergeErrors()
                .flags(
                        "-Dfile.encoding=ISO-8859-1",
                        "-Dstdout.encoding=ISO-8859-1",
                        "-Duser.language=tr",
                        "-Duser.country=TR",
                        "-Dline.separator=\r\n",
                        "-Duser.timezone=Asia/Kathmandu",
                        "-XX:+UnlockExperimentalVMOptions",
                        "-XX:hashCode=3")
                .run();
        assertEquals(IdSamples.lines(), there.lines());
    }

    @Test
    @DisplayName("the bytes of an id never change: the layout written by hand")
    void golden() {
        Id id = Id.builder(new Target(Backend.OPENCL, "v", "d", "1"))
                .field("n", 258)
                .build();
        String expected = "GRID\0\1" + framed("backend", "opencl") + framed("vendor", "v")
                + framed("device", "d") + framed("driver", "1") + framed("n", "\0\0\0\0\0\0\1\2");
        assertArrayEquals(expected.getBytes(StandardCharsets.ISO_8859_1), id.bytes());
        assertEquals(expected.length(), id.length());
        assertEquals(
                "830b6d3128437c60a2a4d10ff7c8669745a56f889187e79d10ac879e1c9fe57e",
                id.hash().hex());
        assertEquals(Sha256.of(id.bytes()), id.hash());
    }

    private static String framed(String name, String value) {
        return "\0\0\0" + (char) name.length() + name + "\0\0\0" + (char) value.length() + value;
    }

    @Test
    @DisplayName("a change of any part of the target or any field changes the id")
    void everyField() {
        List<Id> all = new ArrayList<>(List.of(
                id("a", "b"),
                id("A", "b"),
                id("a", "B"),
                id("a"),
                id("a", "b", ""),
                Id.builder(TARGET).field("f0", "a").field("g1", "b").build(),
                Id.builder(TARGET).field("f1", "b").field("f0", "a").build(),
                Id.builder(TARGET).field("n", 1).build(),
                Id.builder(TARGET).field("n", 1L << 32).build(),
                Id.builder(TARGET).field("n", "1").build()));
        for (Target target : List.of(
                new Target(Backend.LEVEL_ZERO, "pocl", "cpu-haswell", "6.0"),
                new Target(Backend.OPENCL, "Pocl", "cpu-haswell", "6.0"),
                new Target(Backend.OPENCL, "pocl", "cpu-haswell ", "6.0"),
                new Target(Backend.OPENCL, "pocl", "cpu-haswell", "6.1"),
                new Target(Backend.OPENCL, "pocl", "cpu-haswell", Target.UNKNOWN))) {
            all.add(Id.builder(target).field("f0", "a").field("f1", "b").build());
        }
        Set<Sha256> hashes = new HashSet<>();
        all.forEach(id -> hashes.add(id.hash()));
        assertEquals(all.size(), new HashSet<>(all).size());
        assertEquals(all.size(), hashes.size());
    }

    @Test
    @DisplayName("fields are framed: a byte moved across a boundary, embedded NULs and empty fields"
            + " change the id")
    void framing() {
        assertEquals(
                12,
                Set.of(
                                id("ab", "c"),
                                id("a", "bc"),
                                id("abc", ""),
                                id("", "abc"),
                                id("abc"),
                                id("", "", "abc"),
                                id("a\0b", "c"),
                                id("a", "\0b", "c"),
                                id("a\0", "b", "c"),
                                id("a", "b", "c"),
                                id("a\0\0\0\2f1\0\0\0\1b"),
                                id("a", "b"))
                        .size());
        assertNotEquals(
                Id.builder(TARGET).field("ab", "c").build(),
                Id.builder(TARGET).field("a", "bc").build());
    }

    @Test
    @DisplayName("text and its UTF-8 bytes are the same value")
    void spellings() {
        Id bytes = Id.builder(TARGET)
                .field("f0", "ä".getBytes(StandardCharsets.UTF_8))
                .build();
        assertEquals(id("ä"), bytes);
        assertEquals(id("ä").hash(), bytes.hash());
    }

    @Test
    @DisplayName("the schema is part of every id, and ids of another schema are not read")
    void schema() {
        byte[] other = id("a").bytes();
        assertEquals(Id.SCHEMA, other[5]);
        other[5]++;
        assertTrue(Id.parse(other).isEmpty());
    }

    @Test
    @DisplayName("the empty id has a reason, but neither hash nor target")
    void notCacheable() {
        Id none = Id.notCacheable("it includes a header that cannot be read");
        assertTrue(none.isEmpty());
        assertEquals(0, none.bytes().length);
        assertEquals(List.of(), none.fields());
        assertEquals("it includes a header that cannot be read", none.reason());
        assertTrue(assertThrows(IllegalStateException.class, none::hash)
                .toString()
                .contains("a header that cannot be read"));
        assertTrue(assertThrows(IllegalStateException.class, none::target)
                .toString()
                .contains("a header that cannot be read"));
        assertTrue(none.toString().contains("a header that cannot be read"));
        assertFalse(id("a").isEmpty());
        assertEquals("", id("a").reason());
        assertTrue(Id.parse(none.bytes()).isEmpty());
    }

    @Test
    @DisplayName("text without a UTF-8 encoding is not cacheable: an unpaired surrogate is not a"
            + " question mark")
    void halfSurrogate() {
        Id id = id("ok", "a\uD800b");
        assertTrue(id.isEmpty());
        assertTrue(id.reason().contains("f1"));
        assertFalse(id("ok", "a?b").isEmpty());
    }

    @Test
    @DisplayName("ids of many KiB are parsed from their bytes, with their fields")
    void large() {
        byte[] source = new byte[3 << 20];
        Id id = Id.builder(TARGET).field("source", source).field("last", 7).build();
        assertTrue(id.length() > source.length);
        Id back = Id.parse(id.bytes()).orElseThrow();
        assertEquals(id, back);
        assertEquals(id.hash(), back.hash());
        assertEquals(64, back.hash().hex().length());
        assertEquals(TARGET, back.target());
        assertEquals(
                List.of("backend", "vendor", "device", "driver", "source", "last"),
                back.fields().stream().map(Id.Field::name).toList());
        assertArrayEquals(source, back.fields().get(4).value());
        assertEquals("cpu-haswell", back.fields().get(2).text());
    }

    @Test
    @DisplayName("an id above the limit is rejected with the limit in the message")
    void tooLarge() {
        Id.Builder builder = Id.builder(TARGET).field("source", new byte[Id.MAX_BYTES]);
        assertTrue(assertThrows(IllegalArgumentException.class, builder::build)
                .toString()
                .contains(String.valueOf(Id.MAX_BYTES)));
    }

    @Test
    @DisplayName("the id of the same inputs for another target has that target, and all other"
            + " fields")
    void withTarget() {
        Target own = new Target(Backend.LEVEL_ZERO, "v", "a device", "1.2.3");
        Target other = new Target(Backend.OPENCL, "another vendor", "d", "22.43.3");
        Id id = Id.builder(own).field("source", "text").field("n", 7).build();
        Id expected = Id.builder(other).field("source", "text").field("n", 7).build();
        assertEquals(expected, id.withTarget(other));
        assertEquals(other, id.withTarget(other).target());
        assertEquals(expected.hash(), id.withTarget(other).hash());
        assertEquals(id, id.withTarget(other).withTarget(own));
        assertEquals(
                expected, Id.parse(id.bytes()).orElseThrow().withTarget(other), "of stored bytes");
        assertThrows(
                IllegalStateException.class, () -> Id.notCacheable("reason").withTarget(other));
    }

    @Test
    @DisplayName("an id is immutable and matches exactly its own bytes")
    void immutable() {
        Id id = id("a");
        byte[] bytes = id.bytes();
        bytes[bytes.length - 1]++;
        assertEquals(id("a"), id);
        assertTrue(id.matches(ByteBuffer.wrap(id.bytes())));
        assertTrue(id.matches(ByteBuffer.wrap(id.bytes()).asReadOnlyBuffer()));
        assertFalse(id.matches(ByteBuffer.wrap(bytes)));
        assertFalse(id.matches(ByteBuffer.wrap(id.bytes()).limit(id.length() - 1)));
        Id.Field field = id.fields().get(4);
        field.value()[0] = 'z';
        assertEquals("a", field.text());
    }
}
