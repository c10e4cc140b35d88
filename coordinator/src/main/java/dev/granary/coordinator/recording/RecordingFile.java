package dev.granary.coordinator.recording;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.toml.TomlFile;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A kernel manifest that programs write, with the directory {@code FILE.d} of its sources and
 * headers. Several threads and processes may add to it at once: each addition reads the file,
 * merges and replaces it, under a file lock. A process that is killed leaves the file as it was
 * before or after its addition. Thread-safe.
 */
public final class RecordingFile {
    private static final Duration LOCK_LIMIT = Duration.ofSeconds(10);
    private static final Duration LOCK_PAUSE = Duration.ofMillis(2);

    /**
     * The turns of this process, by real directory. The system releases a process's lock on a file
     * when any of its channels on that file is closed, so only one may be open.
     */
    private static final Map<Path, ReentrantLock> TURNS = new ConcurrentHashMap<>();

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
     *
     * @throws IOException if not, with the necessary change as its message
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
     * @param kernels the kernels
     * @param comments one line each, such as the reason why a kernel is not recorded
     * @return the number of ids that were added, and of new kernels without one
     * @throws IOException if the recording cannot be written; it is unchanged then
     */
    public int add(List<RecordedKernel> kernels, List<String> comments) throws IOException {
        Files.createDirectories(directory);
        ReentrantLock turn =
                TURNS.computeIfAbsent(directory.toRealPath(), _ -> new ReentrantLock());
        awaitTurn(turn);
        try {
            return addInTurn(kernels, comments);
        } finally {
            turn.unlock();
        }
    }

    private int addInTurn(List<RecordedKernel> kernels, List<String> comments) throws IOException {
        SourceDirectory files = new SourceDirectory(directory);
        try (FileChannel channel = FileChannel.open(
                        directory.resolve("lock"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE);
                FileLock _ = lock(channel)) {
            files.removeUnfinished();
            String before = read();
            RecordingText text = new RecordingText(before, String.valueOf(directory.getFileName()));
            int added = 0;
            for (RecordedKernel kernel : kernels) {
                added += text.add(kernel, files);
            }
            comments.forEach(text::comment);
            byte[] after = text.toString().getBytes(UTF_8);
            if (after.length > TomlFile.MAX_BYTES) {
                throw new IOException(file + " would have more than " + (TomlFile.MAX_BYTES >> 20)
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

    private void awaitTurn(ReentrantLock turn) throws IOException {
        try {
            if (!turn.tryLock(LOCK_LIMIT.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new IOException("another thread has added to " + directory + " for "
                        + LOCK_LIMIT.toSeconds() + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the wait for another thread was interrupted");
        }
    }

    private FileLock lock(FileChannel channel) throws IOException {
        long deadline = Ticker.SYSTEM.nanos() + LOCK_LIMIT.toNanos();
        while (true) {
            try {
                FileLock lock = channel.tryLock();
                if (lock != null) {
                    return lock;
                }
            } catch (OverlappingFileLockException e) {
                // another copy of this class in this process has it
            }
            if (Ticker.SYSTEM.nanos() - deadline > 0) {
                throw new IOException("another process has held the lock of " + directory + " for "
                        + LOCK_LIMIT.toSeconds() + " s");
            }
            try {
                Ticker.SYSTEM.pause(LOCK_PAUSE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("the wait for the lock was interrupted");
            }
        }
    }
}
