package dev.granary.local.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/** Tests of listings of the directory while other processes remove files. */
final class StoreLayoutTest {
    @TempDir
    private Path directory;

    private Set<Path> create() throws Exception {
        Set<Path> children = new HashSet<>();
        for (int i = 0; i < 5; i++) {
            children.add(Files.createFile(directory.resolve("child" + i)));
        }
        return children;
    }

    @Test
    @DisplayName(
            "D6 a child that is removed during its visit is skipped, and all others are visited")
    void removedMeanwhile() throws Exception {
        Set<Path> children = create();
        Set<Path> visited = new HashSet<>();
        StoreLayout.forEachChild(directory, child -> {
            visited.add(child);
            if (visited.size() == 2) {
                Files.delete(child);
            }
            long _ = Files.size(child);
        });
        assertEquals(children, visited);
    }

    @Test
    @DisplayName("D6 a file that a visitor misses elsewhere is an error of the visit")
    void missingElsewhere() throws Exception {
        create();
        assertThrows(
                IOException.class,
                () -> StoreLayout.forEachChild(
                        directory, child -> Files.size(child.resolveSibling("absent"))));
        StoreLayout.forEachChild(directory.resolve("absent"), child -> {
            throw new AssertionError(child);
        });
    }
}
