package dev.granary.gpu.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Tests of the temporary directory of a source and its headers. */
class HeaderDirectoryTest {
    @TempDir
    Path parent;

    private static KernelDescriptor.Builder builder() {
        return KernelDescriptor.builder(new Target(Backend.OPENCL, "v", "d", "1"), "k")
                .source("int x;");
    }

    private static List<Path> paths(HeaderDirectory headers) {
        return headers.options().stream()
                .map(option -> Path.of(option.substring(2)))
                .toList();
    }

    @Test
    @DisplayName("Headers are at their paths, also above the source; include directories follow the"
            + " source's own; closing removes all")
    void headerPaths() throws Exception {
        List<Path> paths;
        try (HeaderDirectory headers = new HeaderDirectory(
                builder()
                        .header("a.clh", "1")
                        .header("sub/b.clh", "2")
                        .header("../../up/c.clh", "3")
                        .includeDirectory("sub")
                        .includeDirectory("../../up")
                        .build(),
                parent)) {
            paths = paths(headers);
            assertEquals(3, paths.size());
            assertEquals("1", Files.readString(paths.get(0).resolve("a.clh")));
            assertEquals("2", Files.readString(paths.get(1).resolve("b.clh")));
            assertEquals("3", Files.readString(paths.get(2).resolve("c.clh")));
            assertEquals(
                    "rwx------",
                    java.nio.file.attribute.PosixFilePermissions.toString(
                            Files.getPosixFilePermissions(remainingFiles().getFirst())));
        }
        assertEquals(List.of(), remainingFiles());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "../../../../../../../../../x.clh",
                "sub/../../../../../../../../../../x",
                "../../../../../../../.."
            })
    @DisplayName("a path outside of the directory is refused, and no file remains")
    void outside(String path) throws Exception {
        assertThrows(
                IOException.class,
                () -> new HeaderDirectory(builder().header(path, "x").build(), parent));
        assertThrows(
                IOException.class,
                () -> new HeaderDirectory(builder().includeDirectory(path).build(), parent));
        assertEquals(List.of(), remainingFiles());
    }

    @Test
    @DisplayName("A header at the path of a directory is refused, and no file remains")
    void pathOfDirectory() throws Exception {
        assertThrows(
                IOException.class,
                () -> new HeaderDirectory(
                        builder().header("a", "x").header("a/b", "y").build(), parent));
        assertThrows(
                IOException.class,
                () -> new HeaderDirectory(builder().header(".", "x").build(), parent));
        assertEquals(List.of(), remainingFiles());
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\ud800.clh", "\udfff/b.clh"})
    @DisplayName("a path that is not a valid file name throws an IOException, and no file remains")
    void invalidFileName(String path) throws Exception {
        IOException refused = assertThrows(
                IOException.class,
                () -> new HeaderDirectory(builder().header(path, "x").build(), parent));
        assertTrue(
                String.valueOf(refused.getMessage()).contains("is not valid here"),
                refused::toString);
        assertThrows(
                IOException.class,
                () -> new HeaderDirectory(builder().includeDirectory(path).build(), parent));
        assertEquals(List.of(), remainingFiles());
    }

    private List<Path> remainingFiles() throws IOException {
        try (var files = Files.list(parent)) {
            return files.toList();
        }
    }
}
