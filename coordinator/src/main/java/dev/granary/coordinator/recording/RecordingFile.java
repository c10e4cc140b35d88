package dev.granary.coordinator.recording;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.coordinator.machine.FileTurn;
import dev.granary.coordinator.toml.TomlTable;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * A kernel manifest that programs write, with the directory {@code FILE.d} of its sources and
 * headers. Several threads and processes may add to it at once: each addition reads the file,
 * merges and replaces it, under a file lock. A process that is killed leaves the file as it was
 * before or after its addition. Thread-safe.
 */
public final class RecordingFile {
    private static final Duration LOCK_LIMIT = Duration.ofSeconds(10);

    private final Path file;
    private final Path directory;

    /** Creates a recording at {@code file}; nothing is read or written before {@link #add}. */
    public RecordingFile(Path file) {
        Path absolute = file.toAbsolutePath().normalize();
        this.file = absolute;
        this.directory = absolute.resolveSibling(absolute.getFileName() + ".d");
    }

    /**
     * Checks that a recording can be written here: the file is a recording or does not exist yet,
     * and its directory can be written.
     */
    public void check() throws IOException {
        Path parent = file.getParent();
        if (parent == null || Files.isDirectory(file)) {
            throw new IOException(file + " is a directory; name a file in it");
        }
        if (!Files.isDirectory(parent)) {
            throw new IOException("there is no directory " + parent + "; create it");
        }
        if (!Files.isWritable(parent)) {
            throw new IOException(
                    "the directory " + parent + " cannot be written; name a file in another one");
        }
        if (Files.exists(directory) && !Files.isDirectory(directory)) {
            throw new IOException(directory + " is needed as a directory; name another file");
        }
        if (Files.exists(file)) {
            read();
            if (!Files.isWritable(file)) {
                throw new IOException(file + " is read-only; change its mode or name another file");
            }
        }
    }

    /**
     * Adds kernels that the recording lacks, and comments.
     *
     * @param comments one line each, such as the reason why a kernel is not recorded
     * @return the number of ids and of kernels without one that were added
     * @throws IOException if the recording cannot be written; it is unchanged then
     */
    public int add(List<KernelDescriptor> kernels, List<String> comments) throws IOException {
        Files.createDirectories(directory);
        SourceDirectory files = new SourceDirectory(directory);
        try (FileTurn _ = FileTurn.await(directory.resolve("lock"), LOCK_LIMIT)) {
            String before = read();
            RecordingText text = new RecordingText(before, String.valueOf(directory.getFileName()));
            int added = 0;
            for (KernelDescriptor kernel : kernels) {
                added += text.add(kernel, files);
            }
            comments.forEach(text::comment);
            byte[] after = text.toString().getBytes(UTF_8);
            if (after.length > TomlTable.MAX_BYTES) {
                throw new IOException(file + " would have more than " + (TomlTable.MAX_BYTES >> 20)
                        + " MiB; record to another file");
            }
            if (!text.toString().equals(before)) {
                files.write(Files.exists(file) ? file.toRealPath() : file, after);
            }
            return added;
        }
    }

    /** Returns the text of the recording; empty if there is none. */
    private String read() throws IOException {
        if (!Files.exists(file)) {
            return "";
        }
        String text;
        try {
            text = Files.readString(file);
        } catch (CharacterCodingException e) {
            throw new IOException(file + " is not UTF-8 text; name another file", e);
        }
        if (!text.isBlank() && !text.startsWith(RecordingText.MARK)) {
            throw new IOException(file + " is not a recording, which begins with '"
                    + RecordingText.MARK + "'; name another file, or a new one");
        }
        return text;
    }
}
