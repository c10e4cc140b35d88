package dev.granary.coordinator.session;

import dev.granary.cache.Entry;
import dev.granary.cache.support.LogOnce;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * Quarantine of entries whose restore ended a process: drivers abort the process on some binaries,
 * even if the checksums match.
 *
 * <p>A restore leaves a mark while it runs. The next process finds the marks of dead sessions, and
 * does not try these entries for one day. Thread-safe.
 */
public final class RestoreQuarantine {
    /** The subdirectory of a {@link ProcessSession} with the marks of running restores. */
    public static final String MARKS_DIRECTORY = "trying";

    private static final Duration DURATION = Duration.ofDays(1);
    private static final Pattern NAME = Pattern.compile("[0-9a-f]{64}-[0-9a-f]{64}");

    private final Path marks;
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
        this.marks = session.subdirectory(MARKS_DIRECTORY);
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
        Instant end = endTimes.get(name(entry));
        return end != null && clock.instant().isBefore(end);
    }

    /** Marks the start of a restore of {@code entry}. */
    public void begin(Entry entry) {
        try {
            Files.write(marks.resolve(name(entry)), new byte[0]);
        } catch (IOException e) {
            LogOnce.warn(
                    "quarantine",
                    "Restores cannot be marked, so an entry that ends a process is not detected: "
                            + e);
        }
    }

    /** Removes the mark after a restore that the process survived. */
    public void end(Entry entry) {
        try {
            Files.deleteIfExists(marks.resolve(name(entry)));
        } catch (IOException e) {
            LogOnce.warn("quarantine", "The mark of a restore could not be removed: " + e);
        }
    }

    /** Puts the entries that a dead session was restoring into quarantine. */
    public void inherit(Path deadSession) throws IOException {
        Path deadMarks = deadSession.resolve(MARKS_DIRECTORY);
        if (!Files.isDirectory(deadMarks)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(deadMarks)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (!NAME.matcher(name).matches()) {
                    Files.deleteIfExists(file);
                    continue;
                }
                Instant now = clock.instant();
                // the quarantine starts when the mark is found
                Files.setLastModifiedTime(file, FileTime.from(now));
                Files.createDirectories(directory);
                Files.move(file, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE);
                endTimes.put(name, now.plus(DURATION));
                LogOnce.warn(
                        "quarantined",
                        "A process ended while it restored entry "
                                + name.substring(0, name.indexOf('-'))
                                + "; it is not tried for a day.");
            }
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

    private static String name(Entry entry) {
        return entry.id().hash().hex() + "-" + entry.contentHash().hex();
    }
}
