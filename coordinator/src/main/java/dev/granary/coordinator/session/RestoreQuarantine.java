package dev.granary.coordinator.session;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.LogOnce;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;

/**
 * Quarantine of entries whose restore ended a process: drivers abort the process on some binaries,
 * even if the checksums match. Plans whose trial ended a process are in the same quarantine.
 *
 * <p>A restore or trial leaves a mark while it runs. The next process finds the marks of dead
 * sessions, and does not try these entries and plans for one day. Thread-safe.
 */
public final class RestoreQuarantine implements AutoCloseable {
    /** The file of a {@link ProcessSession} with the marks of running restores. */
    static final String MARKS_FILE = "restoring";

    /** The file of a {@link ProcessSession} with the marks of running trials of plans. */
    static final String TRIALS_FILE = "trying";

    /** The directory of the quarantine in a local directory. */
    static final String DIRECTORY = "quarantine";

    /** The directory of the plans whose trial ended a process, in that of the quarantine. */
    static final String PLANS_DIRECTORY = "plans";

    private final RestoreMarks marks;
    private final RestoreMarks trials;
    private final QuarantineDirectory directory;
    private final QuarantineDirectory plans;

    /**
     * Reads the quarantine of {@code localDirectory}.
     *
     * @throws IOException if the directory cannot be read or written
     */
    public RestoreQuarantine(Path localDirectory, ProcessSession session, InstantSource clock)
            throws IOException {
        this.marks = new RestoreMarks(session.file(MARKS_FILE));
        this.trials = new RestoreMarks(session.file(TRIALS_FILE));
        this.directory = new QuarantineDirectory(localDirectory.resolve(DIRECTORY), clock);
        this.plans = new QuarantineDirectory(
                localDirectory.resolve(DIRECTORY).resolve(PLANS_DIRECTORY), clock);
    }

    /**
     * Returns the reason for which the next process does not restore an entry: it is in quarantine,
     * or a process has ended during its restore since. Empty if there is none. Changes nothing.
     *
     * @throws IOException if the directory cannot be read
     */
    public static Optional<String> reason(Path localDirectory, Entry entry, Instant now)
            throws IOException {
        String mark = RestoreMarks.name(entry);
        Optional<Instant> end =
                QuarantineDirectory.end(localDirectory.resolve(DIRECTORY).resolve(mark));
        if (end.isPresent() && now.isBefore(end.get())) {
            return Optional.of(
                    "a process ended while it restored this content; in quarantine until "
                            + end.get());
        }
        for (Path session : ProcessSession.ended(localDirectory)) {
            if (RestoreMarks.read(session.resolve(MARKS_FILE)).contains(mark)) {
                return Optional.of("a process has just ended while it restored this content; the"
                        + " next process puts it into quarantine");
            }
        }
        return Optional.empty();
    }

    /** Returns true if {@code entry} is in quarantine now. */
    public boolean contains(Entry entry) {
        return !directory.isEmpty() && directory.contains(RestoreMarks.name(entry));
    }

    /** Returns the ends of the quarantine by mark: id and content in hexadecimal digits. */
    public Map<String, Instant> endTimes() {
        return directory.endTimes();
    }

    /**
     * Returns the ends of the quarantine of plans by mark: id of the tuning and digest of the
     * source in hexadecimal digits.
     */
    public Map<String, Instant> planEndTimes() {
        return plans.endTimes();
    }

    /**
     * Ends the quarantine of the entry or plan with this mark; false if it had ended already.
     *
     * @throws IOException if its file cannot be deleted
     */
    public boolean remove(String mark) throws IOException {
        boolean isEntry = directory.remove(mark);
        boolean isPlan = plans.remove(mark);
        return isEntry || isPlan;
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
        return mark(marks, entry.id().hash(), entry.contentHash());
    }

    /**
     * Marks the start of the trial of a plan; the caller closes the result.
     *
     * @param tuning the SHA-256 of the id of the tuning
     * @param source the SHA-256 of the source of the plan
     * @return empty if the plan is in quarantine now
     */
    public Optional<Restore> beginTrial(Sha256 tuning, Sha256 source) {
        return plans.contains(RestoreMarks.name(tuning, source))
                ? Optional.empty()
                : Optional.of(mark(trials, tuning, source));
    }

    private static Restore mark(RestoreMarks file, Sha256 id, Sha256 content) {
        try {
            return file.mark(id, content);
        } catch (IOException e) {
            LogOnce.warn(
                    "quarantine",
                    "Restores cannot be marked, so an entry that ends a process is not detected: "
                            + e);
            return () -> {};
        }
    }

    /**
     * Puts the entries that a dead session was restoring, and the plans that it was trying, into
     * quarantine.
     */
    public void inherit(Path deadSession) throws IOException {
        inherit(
                deadSession.resolve(MARKS_FILE),
                directory,
                "A process ended while it restored entry ");
        inherit(
                deadSession.resolve(TRIALS_FILE),
                plans,
                "A process ended while it tried a plan of tuning ");
    }

    private static void inherit(Path deadMarks, QuarantineDirectory added, String message)
            throws IOException {
        for (String mark : RestoreMarks.read(deadMarks)) {
            added.add(mark); // the quarantine starts when the mark is found
            LogOnce.warn(
                    "quarantined",
                    message + mark.substring(0, mark.indexOf('-'))
                            + "; it is not tried for a day.");
        }
        Files.deleteIfExists(deadMarks);
    }

    /** Removes the marks of this process. Restores that are still under way are not marked. */
    @Override
    public void close() {
        try (trials) {
            marks.close();
        } catch (IOException e) {
            LogOnce.warn("quarantine", "The marks of restores could not be removed: " + e);
        }
    }
}
