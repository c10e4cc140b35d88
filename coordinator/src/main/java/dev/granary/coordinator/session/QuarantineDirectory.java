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
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Marked entries on disk: an empty file for each entry, with the name of its {@link RestoreMarks
 * mark} and the time at which it was added. An entry is marked for a day. Other files in the
 * directory are left alone. Thread-safe.
 */
final class QuarantineDirectory {
    /** The time for which an entry stays marked. */
    static final Duration TIME = Duration.ofDays(1);

    private final Path directory;
    private final InstantSource clock;
    private final Map<String, Instant> endTimes = new ConcurrentHashMap<>();

    /**
     * Reads the marked entries, and removes those whose time is over.
     *
     * @throws IOException if the directory cannot be read or written
     */
    QuarantineDirectory(Path directory, InstantSource clock) throws IOException {
        this.directory = directory;
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
        endTimes.put(mark, now.plus(TIME));
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
        Optional<Instant> end = end(file);
        if (end.isEmpty()) {
            return;
        }
        if (now.isBefore(end.get())) {
            endTimes.put(file.getFileName().toString(), end.get());
        } else {
            Files.deleteIfExists(file);
        }
    }

    /** Returns the end of the time of the entry with this file; empty if there is no such file. */
    static Optional<Instant> end(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.empty();
        }
        try {
            return Optional.of(Files.getLastModifiedTime(file).toInstant().plus(TIME));
        } catch (NoSuchFileException e) {
            return Optional.empty(); // another process has removed it
        }
    }
}
