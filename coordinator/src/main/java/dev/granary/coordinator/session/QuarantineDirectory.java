package dev.granary.coordinator.session;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Marked entries on disk, such as the quarantine: an empty file for each entry, with the name of
 * its {@link RestoreMarks mark} and the time at which it was added. An entry is marked for a fixed
 * time. Other files in the directory are left alone. Thread-safe.
 */
final class QuarantineDirectory {
    private final Path directory;
    private final Duration duration;
    private final InstantSource clock;
    private final Map<String, Instant> endTimes = new ConcurrentHashMap<>();

    /**
     * Reads the marked entries, and removes those whose time is over.
     *
     * @param duration the time that an entry stays marked
     * @throws IOException if the directory cannot be read or written
     */
    QuarantineDirectory(Path directory, Duration duration, InstantSource clock) throws IOException {
        this.directory = directory;
        this.duration = duration;
        this.clock = clock;
        if (Files.isDirectory(directory)) {
            read();
        }
    }

    /** Returns true if the entry with this mark is marked now. */
    boolean contains(String mark) {
        Instant end = endTimes.get(mark);
        return end != null && clock.instant().isBefore(end);
    }

    /** Returns true if no entry was marked when this was last read or changed. */
    boolean isEmpty() {
        return endTimes.isEmpty();
    }

    /** Returns the end of the time of each entry, by its mark. */
    Map<String, Instant> endTimes() {
        return Map.copyOf(endTimes);
    }

    /** Adds the entry with this mark. */
    void add(String mark) throws IOException {
        Instant now = clock.instant();
        Files.createDirectories(directory);
        Path file = directory.resolve(mark);
        Files.write(file, new byte[0]);
        Files.setLastModifiedTime(file, FileTime.from(now));
        endTimes.put(mark, now.plus(duration));
    }

    /** Removes the entry with this mark; false if it was not marked. */
    boolean remove(String mark) throws IOException {
        boolean isRemoved = Files.deleteIfExists(directory.resolve(mark));
        endTimes.remove(mark);
        return isRemoved;
    }

    private void read() throws IOException {
        Instant now = clock.instant();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(
                directory, file -> RestoreMarks.isName(file.getFileName().toString()))) {
            for (Path file : files) {
                read(file, now);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private void read(Path file, Instant now) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            Instant end = Files.getLastModifiedTime(file).toInstant().plus(duration);
            if (now.isBefore(end)) {
                endTimes.put(file.getFileName().toString(), end);
            } else {
                Files.deleteIfExists(file);
            }
        } catch (NoSuchFileException e) {
            // another process has removed it
        }
    }
}
