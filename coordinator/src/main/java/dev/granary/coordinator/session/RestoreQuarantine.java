package dev.granary.coordinator.session;

import dev.granary.cache.Entry;
import dev.granary.cache.support.LogOnce;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Quarantine of entries whose restore ended a process: drivers abort the process on some binaries,
 * even if the checksums match.
 *
 * <p>A restore leaves a mark while it runs. The next process finds the marks of dead sessions, and
 * does not try these entries for one day. Thread-safe.
 */
public final class RestoreQuarantine implements AutoCloseable {
    /** The file of a {@link ProcessSession} with the marks of running restores. */
    static final String MARKS_FILE = "restoring";

    private static final Duration DURATION = Duration.ofDays(1);

    private final RestoreMarks marks;
    private final Path directory;
    private final InstantSource clock;
    private final Map<String, Instant> endTimes = new ConcurrentHashMap<>();

    /**
     * Reads the quarantine of {@code localDirectory}.
     *
     * @throws IOException if the directory cannot be read or written
     */
    public RestoreQuarantine(Path localDirectory, ProcessSession session, InstantSource clock)
            throws IOException {
        this.marks = new RestoreMarks(session.file(MARKS_FILE));
        this.directory = localDirectory.resolve("quarantine");
        this.clock = clock;
        if (Files.isDirectory(directory)) {
            readEndTimes();
        }
    }

    /** Returns true if {@code entry} is in quarantine now. */
    public boolean contains(Entry entry) {
        if (endTimes.isEmpty()) {
            return false;
        }
        Instant end = endTimes.get(RestoreMarks.name(entry));
        return end != null && clock.instant().isBefore(end);
    }

    /** A restore that is under way. */
    @FunctionalInterface
    public interface Restore extends AutoCloseable {
        /** Ends the restore, which the process survived. */
        @Override
        void close();
    }

    /** Marks the start of a restore of {@code entry}; the caller closes the result. */
    public Restore begin(Entry entry) {
        try {
            return marks.mark(entry);
        } catch (IOException e) {
            LogOnce.warn(
                    "quarantine",
                    "Restores cannot be marked, so an entry that ends a process is not detected: "
                            + e);
            return () -> {};
        }
    }

    /** Puts the entries that a dead session was restoring into quarantine. */
    public void inherit(Path deadSession) throws IOException {
        Path deadMarks = deadSession.resolve(MARKS_FILE);
        Instant now = clock.instant();
        for (String mark : RestoreMarks.read(deadMarks)) {
            Files.createDirectories(directory);
            Path file = directory.resolve(mark);
            Files.write(file, new byte[0]);
            // the quarantine starts when the mark is found
            Files.setLastModifiedTime(file, FileTime.from(now));
            endTimes.put(mark, now.plus(DURATION));
            LogOnce.warn(
                    "quarantined",
                    "A process ended while it restored entry "
                            + mark.substring(0, mark.indexOf('-'))
                            + "; it is not tried for a day.");
        }
        Files.deleteIfExists(deadMarks);
    }

    /** Removes the marks of this process. Restores that are still under way are not marked. */
    @Override
    public void close() {
        try {
            marks.close();
        } catch (IOException e) {
            LogOnce.warn("quarantine", "The marks of restores could not be removed: " + e);
        }
    }

    private void readEndTimes() throws IOException {
        Instant now = clock.instant();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                Instant end = Files.getLastModifiedTime(file).toInstant().plus(DURATION);
                if (now.isBefore(end)) {
                    endTimes.put(file.getFileName().toString(), end);
                } else {
                    Files.deleteIfExists(file);
                }
            }
        }
    }
}
