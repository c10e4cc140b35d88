package dev.granary.coordinator.session;

import dev.granary.cache.Sha256;

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
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * The quarantine on disk: an empty file for each entry, with the name of its {@link RestoreMarks
 * mark} and the time at which its quarantine began. Other files in the directory are left alone.
 * Thread-safe.
 */
final class QuarantineDirectory {
    /** The time that an entry stays in quarantine. */
    static final Duration DURATION = Duration.ofDays(1);

    private final Path directory;
    private final InstantSource clock;
    private final Map<String, Instant> endTimes = new ConcurrentHashMap<>();

    /**
     * Reads the quarantine of {@code localDirectory}, and removes what is over.
     *
     * @throws IOException if the directory cannot be read or written
     */
    QuarantineDirectory(Path localDirectory, InstantSource clock) throws IOException {
        this.directory = localDirectory.resolve("quarantine");
        this.clock = clock;
        if (Files.isDirectory(directory)) {
            read();
        }
    }

    /** Returns true if the entry with this mark is in quarantine now. */
    boolean contains(String mark) {
        Instant end = endTimes.get(mark);
        return end != null && clock.instant().isBefore(end);
    }

    /** Returns true if no entry was in quarantine when this was last read or changed. */
    boolean isEmpty() {
        return endTimes.isEmpty();
    }

    /** Returns the contents of that id that are in quarantine now. */
    Set<Sha256> contentsOf(Sha256 id) {
        String prefix = id.hex() + "-";
        return endTimes.keySet().stream()
                .filter(mark -> mark.startsWith(prefix) && contains(mark))
                .map(mark -> Sha256.parse(mark.substring(prefix.length())))
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Returns the ends of the quarantine by mark. */
    Map<String, Instant> endTimes() {
        return Map.copyOf(endTimes);
    }

    /** Begins the quarantine of the entry with this mark. */
    void add(String mark) throws IOException {
        Instant now = clock.instant();
        Files.createDirectories(directory);
        Path file = directory.resolve(mark);
        Files.write(file, new byte[0]);
        Files.setLastModifiedTime(file, FileTime.from(now));
        endTimes.put(mark, now.plus(DURATION));
    }

    /** Ends the quarantine of the entry with this mark; false if it had ended already. */
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
            Instant end = Files.getLastModifiedTime(file).toInstant().plus(DURATION);
            if (now.isBefore(end)) {
                endTimes.put(file.getFileName().toString(), end);
            } else {
                Files.deleteIfExists(file);
            }
        } catch (NoSuchFileException e) {
            // another process has ended this quarantine
        }
    }
}
