package dev.granary.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.contract.TestEntries;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Tests of binaries, metadata and entries as immutable values compared by content. */
class EntryValuesTest {
    private static final EntryMetadata METADATA = new EntryMetadata(
            "1", "p", Instant.ofEpochSecond(1, 1_999_999), List.of("k"), List.of("g"), "key");

    @Test
    @DisplayName("binaries are equal by content, order and boundaries, on and off the heap")
    void binariesEquality() {
        KernelBinaries heap = KernelBinaries.of(new byte[] {1, 2}, new byte[] {3});
        try (Arena arena = Arena.ofShared()) {
            MemorySegment first =
                    arena.allocate(2).copyFrom(MemorySegment.ofArray(new byte[] {1, 2}));
            MemorySegment second =
                    arena.allocate(1).copyFrom(MemorySegment.ofArray(new byte[] {3}));
            KernelBinaries outside = KernelBinaries.ofSegments(List.of(first, second));
            assertEquals(heap, outside);
            assertEquals(heap.hashCode(), outside.hashCode());
            assertEquals(
                    Entry.contentHash(TestEntries.id("x"), heap),
                    Entry.contentHash(TestEntries.id("x"), outside));
        }
        assertNotEquals(heap, KernelBinaries.of(new byte[] {3}, new byte[] {1, 2}));
        assertNotEquals(heap, KernelBinaries.of(new byte[] {1}, new byte[] {2, 3}));
        assertNotEquals(heap, KernelBinaries.of(new byte[] {1, 2}));
        assertNotEquals(heap, KernelBinaries.of(new byte[] {1, 2}, new byte[] {4}));
        assertNotEquals(heap, KernelBinaries.of(new byte[] {1, 2}, new byte[] {3, 0}));
    }

    @Test
    @DisplayName("binaries cannot be changed through their inputs or outputs")
    void binariesImmutable() {
        byte[] given = {1, 2, 3};
        KernelBinaries binaries = KernelBinaries.of(given);
        given[0] = 9;
        binaries.toByteArrays().getFirst()[1] = 9;
        assertArrayEquals(new byte[] {1, 2, 3}, binaries.toByteArrays().getFirst());
        assertThrows(
                IllegalArgumentException.class,
                () -> binaries.segments().getFirst().set(ValueLayout.JAVA_BYTE, 0, (byte) 9));
        assertThrows(
                UnsupportedOperationException.class, () -> binaries.segments().clear());
        List<MemorySegment> list = new ArrayList<>(List.of(MemorySegment.ofArray(new byte[1])));
        KernelBinaries binariesOfList = KernelBinaries.ofSegments(list);
        list.clear();
        assertEquals(1, binariesOfList.segments().size());
    }

    @Test
    @DisplayName("no binaries are a single, empty value")
    void none() {
        assertTrue(KernelBinaries.none().isEmpty());
        assertSame(KernelBinaries.none(), KernelBinaries.of());
        assertSame(KernelBinaries.none(), KernelBinaries.ofSegments(List.of()));
        assertFalse(KernelBinaries.of(new byte[0]).isEmpty(), "an empty binary is a binary");
        assertEquals(0, KernelBinaries.of(new byte[0]).byteSize());
    }

    @Test
    @DisplayName("an entry without id or binaries is rejected, with the reason")
    void emptyEntries() {
        Id none = Id.notCacheable("because");
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> Entry.of(
                                none, KernelBinaries.of(new byte[1]), Duration.ZERO, METADATA))
                .getMessage();
        assertTrue(String.valueOf(message).contains("because"));
        assertThrows(
                IllegalArgumentException.class,
                () -> Entry.of(
                        TestEntries.id("x"), KernelBinaries.none(), Duration.ZERO, METADATA));
    }

    @Test
    @DisplayName("the content hash depends on id, order and boundaries only")
    void contentHash() {
        Id id = TestEntries.id("x");
        Sha256 hash = Entry.contentHash(id, KernelBinaries.of(new byte[] {1, 2}, new byte[] {3}));
        assertEquals(
                hash,
                Entry.of(
                                id,
                                KernelBinaries.of(new byte[] {1, 2}, new byte[] {3}),
                                Duration.ofDays(1),
                                METADATA)
                        .contentHash());
        assertNotEquals(
                hash, Entry.contentHash(id, KernelBinaries.of(new byte[] {1}, new byte[] {2, 3})));
        assertNotEquals(hash, Entry.contentHash(id, KernelBinaries.of(new byte[] {1, 2, 3})));
        assertNotEquals(
                hash,
                Entry.contentHash(
                        TestEntries.id("y"), KernelBinaries.of(new byte[] {1, 2}, new byte[] {3})));
    }

    @Test
    @DisplayName("metadata is truncated to milliseconds and copies its lists")
    void metadata() {
        assertEquals(Instant.ofEpochMilli(1001), METADATA.createdAt());
        List<String> kernels = new ArrayList<>(List.of("a"));
        EntryMetadata metadata = new EntryMetadata("1", "p", Instant.EPOCH, kernels, kernels, "");
        kernels.add("b");
        assertEquals(List.of("a"), metadata.kernels());
        assertEquals(List.of("a"), metadata.geometries());
    }

    @Test
    @DisplayName("a compiler's output is separate from the message")
    void compileException() {
        assertEquals("no kernel", new CompileException("no kernel", " \n").getMessage());
        CompileException failure = new CompileException("line 1", "error: x\n");
        assertEquals("error: x\n", failure.buildLog());
        assertTrue(String.valueOf(failure.getMessage()).endsWith("error: x"));
    }
}
