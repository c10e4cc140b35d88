package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What must hold of a directory after every test, once all of its tiers rest. */
final class Invariants {
    private Invariants() {}

    /** The account equals the files, nothing temporary is left, and the locks can be had. */
    static void check(Path directory) throws IOException, LocalDirectoryException {
        assertEquals(List.of(), temporaryFiles(directory));
        try (LocalTier tier = LocalTier.open(LocalConfig.builder(directory).capacityBytes(Long.MAX_VALUE).background(Runnable::run).build())) {
            assertTrue(tier.sweepNow(), "the sweeper's lock is held");
            assertEquals(entryBytes(directory), tier.usedBytes());
        }
    }

    static List<Path> entryFiles(Path directory) throws IOException {
        return files(directory).filter(file -> file.toString().matches(".*/e/[0-9a-f]{2}/[0-9a-f]{64}(\\.[1-3])?")).toList();
    }

    static long entryBytes(Path directory) throws IOException {
        long sum = 0;
        for (Path file : entryFiles(directory)) {
            sum += Files.size(file);
        }
        return sum;
    }

    static List<Path> temporaryFiles(Path directory) throws IOException {
        return files(directory).filter(file -> file.toString().endsWith(Layout.TEMPORARY)).toList();
    }

    private static Stream<Path> files(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(Files::isRegularFile).toList().stream();
        }
    }
}
