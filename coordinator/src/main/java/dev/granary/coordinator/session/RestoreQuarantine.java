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
 * Remembers entries during whose restore a process ended: drivers abort the process on binaries that they do not like, checksums or not.
 *
 * <p>A restore leaves a mark while it runs. The next process finds the marks of dead sessions and does not try those entries for a day.
 * Thread-safe.
 */
public final class RestoreQuarantine {
    /** The sub-directory of a {@link ProcessSession} with the marks of running restores. */
    public static final String TRYING = "trying";

    private static final Duration LENGTH = Duration.ofDays(1);
    private static final Pattern NAME = Pattern.compile("[0-9a-f]{64}-[0-9a-f]{64}");

    private final Path trying;
    private final Path directory;
    private final InstantSource clock;
    private final Map<String, Instant> until = new ConcurrentHashMap<>();

    /**
     * The quarantine of {@code localDirectory}, as its past processes left it.
     *
     * @throws IOException if the directory cannot be read or written
     */
    public RestoreQuarantine(Path localDirectory, ProcessSession session, InstantSource clock) throws IOException {
        this.trying = session.subdirectory(TRYING);
        this.directory = localDirectory.resolve("quarantine");
        this.clock = clock;
        if (Files.isDirectory(directory)) {
            readNames();
        }
    }

    /** True where {@code entry} must not be tried now. */
    public boolean holds(Entry entry) {
        if (until.isEmpty()) {
            return false;
        }
        Instant end = until.get(name(entry));
        return end != null && clock.instant().isBefore(end);
    }

    /** Marks that {@code entry} is about to be restored. */
    public void begin(Entry entry) {
        try {
            Files.write(trying.resolve(name(entry)), new byte[0]);
        } catch (IOException e) {
            LogOnce.warn("quarantine", "Restores cannot be marked, so an entry that ends a process is not recognised: " + e);
        }
    }

    /** Removes the mark: the process has survived. */
    public void end(Entry entry) {
        try {
            Files.deleteIfExists(trying.resolve(name(entry)));
        } catch (IOException e) {
            LogOnce.warn("quarantine", "The mark of a restore could not be removed: " + e);
        }
    }

    /** Puts what a dead session was restoring into quarantine. */
    public void inherit(Path deadSession) throws IOException {
        Path marks = deadSession.resolve(TRYING);
        if (!Files.isDirectory(marks)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(marks)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (!NAME.matcher(name).matches()) {
                    Files.deleteIfExists(file);
                    continue;
                }
                Instant now = clock.instant();
                Files.setLastModifiedTime(file, FileTime.from(now)); // the day begins when the mark is found
                Files.createDirectories(directory);
                Files.move(file, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE);
                until.put(name, now.plus(LENGTH));
                LogOnce.warn("quarantined",
                        "A process ended while it restored entry " + name.substring(0, name.indexOf('-')) + "; it is not tried for a day.");
            }
        }
    }

    private void readNames() throws IOException {
        Instant now = clock.instant();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                Instant end = Files.getLastModifiedTime(file).toInstant().plus(LENGTH);
                if (now.isBefore(end)) {
                    until.put(file.getFileName().toString(), end);
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
