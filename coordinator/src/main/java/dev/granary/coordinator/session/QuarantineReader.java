package dev.granary.coordinator.session;

import dev.granary.cache.Entry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** Reader of the marks of entries in a local directory, for tools. Changes nothing. */
public final class QuarantineReader {
    private QuarantineReader() {}

    /**
     * Returns the reason for which the next process does not restore an entry: it is in quarantine,
     * or a process has ended during its restore since. Empty if there is none.
     *
     * @throws IOException if the directory cannot be read
     */
    public static Optional<String> quarantine(Path localDirectory, Entry entry, Instant now)
            throws IOException {
        String mark = RestoreMarks.name(entry);
        Optional<Instant> end = end(
                localDirectory.resolve(RestoreQuarantine.DIRECTORY).resolve(mark),
                RestoreQuarantine.QUARANTINE_TIME);
        if (end.isPresent() && now.isBefore(end.get())) {
            return Optional.of(
                    "a process ended while it restored this content; in quarantine until "
                            + end.get());
        }
        for (Path session : ProcessSession.ended(localDirectory)) {
            if (RestoreMarks.read(session.resolve(RestoreQuarantine.MARKS_FILE)).contains(mark)) {
                return Optional.of("a process has just ended while it restored this content; the"
                        + " next process puts it into quarantine");
            }
        }
        return Optional.empty();
    }

    /** Returns the end of the time of a mark; empty if there is no such file. */
    private static Optional<Instant> end(Path file, Duration time) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.empty();
        }
        try {
            return Optional.of(Files.getLastModifiedTime(file).toInstant().plus(time));
        } catch (NoSuchFileException e) {
            return Optional.empty(); // another process has removed it
        }
    }
}
