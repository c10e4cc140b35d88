package dev.granary.cache.contract;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * File of an entry of the local tier, for tests that damage it.
 *
 * @param file the file, which has the encoded entry and nothing else
 */
public record StoredEntry(Path file) {
    /** Returns the entries below a directory. */
    public static List<StoredEntry> in(Path directory) throws IOException {
        List<StoredEntry> entries = new ArrayList<>();
        try (Stream<Path> files = Files.walk(directory)) {
            files.filter(file -> file.toString().endsWith(".entry"))
                    .sorted()
                    .forEach(file -> entries.add(new StoredEntry(file)));
        }
        return entries;
    }

    /** Returns the stored bytes. */
    public byte[] bytes() throws IOException {
        return Files.readAllBytes(file);
    }

    /** Replaces the stored bytes. */
    public void overwrite(byte[] other) throws IOException {
        Files.write(file, other);
    }
}
