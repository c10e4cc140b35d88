package dev.granary.coordinator.machine;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.FileTrees;
import dev.granary.cache.support.Warnings;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Quarantine of what ended a process: entries during their restore, and plans during their trial.
 * Drivers abort the process on some binaries, even if the checksums match.
 *
 * <p>A restore or trial is marked while it runs, by a line in a file of its session: the digests of
 * its id and its content. The next process finds the marks of dead sessions, and tries none of them
 * for a day: the quarantine is a directory with an empty file for each, which has the mark as its
 * name and the time of its addition. Other files there are left alone. Thread-safe.
 */
public final class RestoreQuarantine implements AutoCloseable {
    /** The file of a {@link ProcessSession} with the marks of running restores and trials. */
    static final String MARKS_FILE = "restoring";

    private static final String DIRECTORY = "quarantine";
    private static final Duration TIME = Duration.ofDays(1);
    private static final int MAX_FILE_BYTES = 1 << 20; // of another process, possibly damaged
    private static final Predicate<String> IS_MARK =
            Pattern.compile("[0-9a-f]{64}-[0-9a-f]{64}").asMatchPredicate();

    private final ProcessSession session;
    private final Path directory;
    private final InstantSource clock;
    private final Map<String, Instant> endTimes = new ConcurrentHashMap<>(); // by mark
    private final List<String> running = new ArrayList<>(); // guarded by this
    // guarded by this; not a channel, which an interrupt of any thread would close
    private @Nullable RandomAccessFile marksFile;
    private int marksLength; // of the file; guarded by this
    private boolean isClosed; // guarded by this

    /** Reads the quarantine of {@code localDirectory}, and removes what is over. */
    public RestoreQuarantine(Path localDirectory, ProcessSession session, InstantSource clock)
            throws IOException {
        this.session = session;
        this.directory = localDirectory.resolve(DIRECTORY);
        this.clock = clock;
        for (Path file : FileTrees.list(directory)) {
            String name = file.getFileName().toString();
            Optional<Instant> end = IS_MARK.test(name) ? end(file) : Optional.empty();
            if (end.isPresent() && clock.instant().isBefore(end.get())) {
                endTimes.put(name, end.get());
            } else if (end.isPresent()) {
                Files.deleteIfExists(file);
            }
        }
    }

    /**
     * Adds what ended sessions were restoring or trying. Their uploads remain for a process that
     * has the buckets.
     */
    public void inheritDead() throws IOException {
        session.inheritDead(this::inherit, clock.instant());
    }

    /** Returns when the quarantine with this file ends; empty if there is no such file. */
    private static Optional<Instant> end(Path file) throws IOException {
        try {
            return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                    ? Optional.of(Files.getLastModifiedTime(file).toInstant().plus(TIME))
                    : Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty(); // another process has removed it
        }
    }

    /**
     * Returns the reason for which the next process does not restore an entry: it is in quarantine,
     * or a process has ended during its restore since. Empty if there is none. Changes nothing.
     */
    public static Optional<String> reason(Path localDirectory, Entry entry, Instant now)
            throws IOException {
        String mark = mark(entry);
        Optional<Instant> end = end(localDirectory.resolve(DIRECTORY).resolve(mark));
        if (end.isPresent() && now.isBefore(end.get())) {
            return Optional.of(
                    "a process ended while it restored this content; in quarantine until "
                            + end.get());
        }
        for (Path session : ProcessSession.ended(localDirectory)) {
            if (marks(session.resolve(MARKS_FILE)).contains(mark)) {
                return Optional.of("a process has just ended while it restored this content; the"
                        + " next process puts it into quarantine");
            }
        }
        return Optional.empty();
    }

    /**
     * An entry or plan in quarantine.
     *
     * @param id the SHA-256 of the id of the entry or tuning
     * @param content the SHA-256 of the content of the entry, or of the source of the plan; others
     *     of the same id are not in quarantine
     */
    public record Quarantined(Sha256 id, Sha256 content, Instant end) {}

    /** Returns what is in quarantine, by id. */
    public List<Quarantined> all() {
        return endTimes.entrySet().stream()
                .sorted(Map.Entry.comparingByKey(Comparator.naturalOrder()))
                .map(each -> new Quarantined(
                        Sha256.parse(each.getKey().substring(0, 2 * Sha256.BYTES)),
                        Sha256.parse(each.getKey().substring(2 * Sha256.BYTES + 1)),
                        each.getValue()))
                .toList();
    }

    public boolean contains(Entry entry) {
        return !endTimes.isEmpty() && contains(mark(entry));
    }

    private boolean contains(String mark) {
        Instant end = endTimes.get(mark);
        return end != null && clock.instant().isBefore(end);
    }

    /** Ends a quarantine for processes that start later; false if it had ended already. */
    public boolean remove(Quarantined quarantined) throws IOException {
        String mark = mark(quarantined.id(), quarantined.content());
        endTimes.remove(mark);
        return Files.deleteIfExists(directory.resolve(mark));
    }

    @FunctionalInterface
    public interface Restore extends AutoCloseable {
        /** Ends the restore, which the process survived. */
        @Override
        void close();
    }

    /** Marks the start of a restore of {@code entry}; the caller closes the result. */
    public Restore begin(Entry entry) {
        return begin(mark(entry));
    }

    /**
     * Marks the start of the trial of a plan; the caller closes the result.
     *
     * @return empty if the plan is in quarantine now
     */
    public Optional<Restore> beginTrial(Sha256 tuning, Sha256 source) {
        String mark = mark(tuning, source);
        return contains(mark) ? Optional.empty() : Optional.of(begin(mark));
    }

    private synchronized Restore begin(String mark) {
        Restore restore = () -> end(mark); // allocated first: a mark without a holder would stay
        running.add(mark);
        try {
            writeMarks();
        } catch (IOException e) {
            running.remove(mark);
            Warnings.warn(
                    "quarantine",
                    "Restores cannot be marked, so an entry that ends a process is not detected: "
                            + e);
            return () -> {};
        }
        return restore;
    }

    private synchronized void end(String mark) {
        running.remove(mark);
        try {
            writeMarks();
        } catch (IOException e) {
            Warnings.warn("quarantine", "The mark of a restore could not be removed: " + e);
        }
    }

    private void writeMarks() throws IOException {
        if (isClosed) {
            return;
        }
        RandomAccessFile open = marksFile;
        if (open == null) {
            open = new RandomAccessFile(session.file(MARKS_FILE).toFile(), "rw");
            marksFile = open;
        }
        StringBuilder lines = new StringBuilder();
        for (String mark : running) {
            lines.append(mark).append('\n');
        }
        // empty lines, since another length takes longer than the write
        lines.repeat('\n', Math.max(0, marksLength - lines.length()));
        open.seek(0);
        open.writeBytes(lines.toString());
        marksLength = lines.length(); // not after a failure, as of a full disk: it could not grow
    }

    private static String mark(Entry entry) {
        return mark(entry.id().hash(), entry.contentHash());
    }

    private static String mark(Sha256 id, Sha256 content) {
        return id.hex() + "-" + content.hex();
    }

    /** Returns the marks in the file of another process; none if there is no such file. */
    static Set<String> marks(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return Set.of(); // opening a pipe would block
        }
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readNBytes(MAX_FILE_BYTES), StandardCharsets.ISO_8859_1)
                    .lines()
                    .filter(IS_MARK)
                    .collect(Collectors.toSet());
        }
    }

    /** Puts what a dead session was restoring or trying into quarantine, from now on. */
    public void inherit(Path deadSession) throws IOException {
        Path deadMarks = deadSession.resolve(MARKS_FILE);
        for (String mark : marks(deadMarks)) {
            Instant now = clock.instant();
            Files.createDirectories(directory);
            Path file = Files.write(directory.resolve(mark), new byte[0]);
            Files.setLastModifiedTime(file, FileTime.from(now));
            endTimes.put(mark, now.plus(TIME));
            Warnings.warn(
                    "quarantined",
                    "A process ended while it restored the entry, or tried a plan of the tuning, "
                            + mark.substring(0, mark.indexOf('-'))
                            + "; that is not tried for a day.");
        }
        Files.deleteIfExists(deadMarks);
    }

    /** Removes the marks of this process. Restores that are still under way are not marked. */
    @Override
    public synchronized void close() {
        isClosed = true;
        try {
            if (marksFile != null) {
                marksFile.close();
            }
            Files.deleteIfExists(session.file(MARKS_FILE));
        } catch (IOException e) {
            Warnings.warn("quarantine", "The marks of restores could not be removed: " + e);
        }
    }
}
