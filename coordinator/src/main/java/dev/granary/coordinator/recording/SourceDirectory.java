package dev.granary.coordinator.recording;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Sha256;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The directory of a recording's sources and headers. A file is named after its content, so that
 * programs with equal sources share it, and is never changed. Used under the lock of the recording.
 */
final class SourceDirectory {
    private static final String UNFINISHED = "recording.tmp"; // the next write replaces it

    private static final int NAME_DIGITS = 32;

    private final Path directory;
    // paths by the name of their content: headers are often shared
    private final Map<String, String> stored = new HashMap<>();

    SourceDirectory(Path directory) {
        this.directory = directory;
    }

    /** Stores a text, as {@link #store(byte[], String)} does. */
    String store(String text, String ending) throws IOException {
        return store(text.getBytes(UTF_8), ending);
    }

    /**
     * Stores a content, unless the directory has it.
     *
     * @param ending the end of the file's name
     * @return the path for the manifest beside the directory
     */
    String store(byte[] content, String ending) throws IOException {
        String name = Sha256.of(content).hex().substring(0, NAME_DIGITS);
        String known = stored.get(name + ending);
        if (known != null) {
            return known;
        }
        Path file = directory.resolve(name + ending);
        // A file that somebody edited stays as it is.
        for (int copy = 2; !has(file, content); copy++) {
            file = directory.resolve(name + "-" + copy + ending);
        }
        String path = directory.getFileName() + "/" + file.getFileName();
        stored.put(name + ending, path);
        return path;
    }

    /** Returns true if the file has this content, after writing it if there was no file. */
    private boolean has(Path file, byte[] content) throws IOException {
        if (Files.exists(file)) {
            return Files.size(file) == content.length
                    && Arrays.equals(Files.readAllBytes(file), content);
        }
        write(file, content);
        return true;
    }

    /** Writes a file atomically: a reader, also after a crash, sees all of it or nothing. */
    void write(Path file, byte[] content) throws IOException {
        Path unfinished = directory.resolve(UNFINISHED);
        Files.write(unfinished, content);
        Files.move(
                unfinished,
                file,
                StandardCopyOption.ATOMIC_MOVE,
                StandardCopyOption.REPLACE_EXISTING);
    }
}
