package dev.granary.wrap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.wrap.CacheDirectory.Stamp;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;

/** Tests of the directory of a tool. */
class CacheDirectoryTest {
    private final Path root;

    CacheDirectoryTest(@TempDir Path root) {
        this.root = root;
    }

    private CacheDirectory directory() throws Exception {
        return CacheDirectory.open(root, Tool.ofDirectory("any"));
    }

    @Test
    @DisplayName("what an ended process has left of an installation goes after an hour, and no"
            + " other file, however old")
    void abandoned() throws Exception {
        FileTime old = FileTime.from(Instant.now().minus(Duration.ofHours(2)));
        Path left = Files.createDirectory(root.resolve(".granary-0123456789abcdef"));
        Files.writeString(left.resolve("part"), "x");
        Files.setLastModifiedTime(left, old);
        Path file = Files.writeString(root.resolve(".granary-0123456789abcdee"), "x");
        Files.setLastModifiedTime(file, old);
        Path young = Files.writeString(root.resolve(".granary-0123456789abcded"), "x");
        Path other = Files.writeString(root.resolve(".granary-mine"), "x");
        Files.setLastModifiedTime(other, old);
        assertEquals(Set.of(".granary-mine"), directory().scan().keySet());
        assertFalse(Files.exists(left));
        assertFalse(Files.exists(file));
        assertTrue(Files.exists(young));
        assertTrue(Files.exists(other));
    }

    @Test
    @DisplayName("each compilation of vLLM is a group, also those ahead of time")
    void groups() throws Exception {
        String all = "torch_compile_cache/";
        for (String path : Set.of("k/rank_0_0/x", "k/y", "torch_aot_compile/m/z")) {
            Path file = root.resolve(all + path);
            Files.createDirectories(file.getParent());
            Files.writeString(file, "x");
        }
        assertEquals(
                Set.of(all + "k", all + "torch_aot_compile/m"),
                CacheDirectory.open(root, Tool.named("vllm")).scan().keySet());
    }

    @Test
    @DisplayName("a file that changes between the scan and the read is not shared")
    void changed() throws Exception {
        Path file = Files.writeString(root.resolve("kernel"), "first half");
        SortedMap<String, SortedMap<String, Stamp>> scanned = directory().scan();
        Files.writeString(file, "first half and second");
        IOException failure = assertThrows(IOException.class, () -> directory()
                .read("kernel", scanned.values().iterator().next()));
        assertTrue(failure.toString().contains("is being written"), failure::toString);
    }

    @Test
    @DisplayName("a read of an installed file is seen, and the scan of a directory is none")
    void opened() throws Exception {
        assertTrue(directory().recordsReads(), "of this file system");
        FileGroup group = new FileGroup(
                "a/kernel",
                new LinkedHashMap<>(Map.of("", MemorySegment.ofArray(new byte[] {1, 2}))));
        assertTrue(directory().install(group));
        assertFalse(directory().install(group), "it is there");
        assertEquals(Set.of("a/kernel"), directory().scan().keySet());
        assertEquals(0, directory().opened("a/kernel", Set.of("")));
        assertEquals(2, Files.readAllBytes(root.resolve("a/kernel")).length);
        assertEquals(1, directory().opened("a/kernel", Set.of("")));
    }

    @Test
    @DisplayName("a read is seen that the system, whose clock is behind, dates before the write")
    void openedBefore() throws Exception {
        FileGroup group = new FileGroup(
                "kernel", new LinkedHashMap<>(Map.of("", MemorySegment.ofArray(new byte[] {1}))));
        assertTrue(directory().install(group));
        Path file = root.resolve("kernel");
        Instant written = Files.getLastModifiedTime(file).toInstant();
        Files.setAttribute(file, "lastAccessTime", FileTime.from(written.minusMillis(4)));
        assertEquals(1, directory().opened("kernel", Set.of("")));
    }

    @Test
    @DisplayName("files that are larger than any that is published are not installed")
    void tooLarge() throws Exception {
        MemorySegment half = MemorySegment.NULL.reinterpret(257L << 20); // nothing reads it
        FileGroup bomb = new FileGroup("bomb", new LinkedHashMap<>(Map.of("a", half, "b", half)));
        IOException failure = assertThrows(IOException.class, () -> directory().install(bomb));
        assertTrue(failure.toString().contains("512 MiB"), failure::toString);
        assertEquals(Set.of(), directory().scan().keySet());
    }
}
