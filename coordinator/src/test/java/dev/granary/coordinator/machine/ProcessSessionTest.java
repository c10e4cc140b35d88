package dev.granary.coordinator.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.ChildProcess;
import dev.granary.testing.InteractiveProcess;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/** Takeover of the sessions that other processes left. */
final class ProcessSessionTest {
    @TempDir
    private Path directory;

    @Test
    @DisplayName("a session whose lock file cannot be examined is not removed; one without a lock"
            + " file is")
    void hiddenLock() throws Exception {
        Path outboxFile = outboxFile("00000000000000aa");
        Path dead = outboxFile("00000000000000bb");
        Path lock = Objects.requireNonNull(outboxFile.getParent()).resolveSibling("lock");
        // a cycle: an error for root as well
        Files.createSymbolicLink(lock, lock.getFileName());
        try (ProcessSession session = ProcessSession.begin(directory)) {
            session.inheritDead(_ -> {}, Instant.now().plus(Duration.ofDays(2)));
        }
        assertTrue(Files.exists(outboxFile));
        assertFalse(Files.exists(dead));
    }

    @Test
    @DisplayName("a dead session is removed with files of other names; no link is followed")
    void otherNames() throws Exception {
        Path outside = Files.createDirectories(directory.resolve("outside"));
        Path foreign = Files.createFile(outside.resolve("file"));
        for (String name : List.of("00000000000000aa", "00000000000000bb")) {
            Path dead = directory.resolve("sessions").resolve(name);
            Path nested = Files.createDirectories(dead.resolve("trying").resolve("nested"));
            Files.createFile(nested.resolve("file"));
            Files.createFile(dead.resolve("restoring"));
            Files.createSymbolicLink(dead.resolve("link"), outside);
            Files.createSymbolicLink(nested.resolve("link"), foreign);
            Files.createSymbolicLink(dead.resolve(UploadOutbox.DIRECTORY), outside.resolve("no"));
        }
        Files.createFile(directory.resolve("sessions/00000000000000aa/lock"));
        try (ProcessSession session = ProcessSession.begin(directory)) {
            session.inheritDead(_ -> {}, Instant.now().plus(Duration.ofDays(2)));
        }
        assertEquals(List.of(), sessions());
        assertEquals(List.of(foreign), list(outside));
    }

    @Test
    @DisplayName("a directory without the name of a session, and a link, are left alone")
    void noSessions() throws Exception {
        Path sessions = Files.createDirectories(directory.resolve("sessions"));
        Path outside = Files.createDirectories(directory.resolve("outside"));
        List<Path> kept = List.of(
                Files.createFile(outside.resolve("file")),
                Files.createFile(
                        Files.createDirectory(sessions.resolve("backup")).resolve("file")),
                Files.createFile(
                        Files.createDirectory(sessions.resolve("new-backup")).resolve("file")),
                Files.createFile(sessions.resolve("00000000000000cc")),
                Files.createFile(sessions.resolve("new-00000000000000cc")),
                Files.createSymbolicLink(sessions.resolve("00000000000000aa"), outside),
                Files.createSymbolicLink(sessions.resolve("new-00000000000000aa"), outside));
        try (ProcessSession session = ProcessSession.begin(directory)) {
            session.inheritDead(
                    dead -> {
                        throw new AssertionError("no session: " + dead);
                    },
                    Instant.now().plus(Duration.ofDays(40)));
        }
        assertTrue(kept.stream().allMatch(path -> Files.exists(path)), kept::toString);
    }

    @Test
    @DisplayName("the session of a running process stays untouched; its uploads are inherited once"
            + " it has ended")
    void livingProcess() throws Exception {
        InteractiveProcess process = ChildProcess.start(ChildProcess.WAITS_IN_UPLOAD, directory);
        try {
            assertEquals(ChildProcess.WAITS_IN_UPLOAD, process.answer());
            assertEquals(List.of(), inheritedFiles());
        } finally {
            process.kill();
        }
        assertEquals(1, inheritedFiles().size());
    }

    @Test
    @DisplayName("A session of another class loader of this JVM is live, and one that cannot be"
            + " read hides no other that has ended")
    void otherLoader() throws Exception {
        Path foreign = lockFile("00000000000000aa");
        Path unreadable = Files.createSymbolicLink(
                Files.createDirectories(directory.resolve("sessions/00000000000000bb"))
                        .resolve("lock"),
                Path.of("lock")); // a cycle: an error for root as well
        Path ended = lockFile("00000000000000cc");
        // this channel is one that ProcessSession does not know
        try (FileChannel channel = FileChannel.open(foreign, StandardOpenOption.WRITE);
                FileLock _ = channel.lock()) {
            assertEquals(List.of(ended.getParent()), ProcessSession.ended(directory));
            Files.delete(unreadable);
            try (ProcessSession session = ProcessSession.begin(directory)) {
                List<Path> dead = new ArrayList<>();
                session.inheritDead(dead::add, Instant.now());
                assertEquals(List.of(ended.getParent()), dead);
            }
        }
    }

    private Path lockFile(String session) throws IOException {
        return Files.createFile(
                Files.createDirectories(directory.resolve("sessions").resolve(session))
                        .resolve("lock"));
    }

    /** Returns the outbox files that a new session could inherit; they are not moved. */
    private List<Path> inheritedFiles() throws IOException {
        List<Path> files = new ArrayList<>();
        try (ProcessSession session = ProcessSession.begin(directory)) {
            session.inheritDead(
                    dead -> {
                        try (Stream<Path> outboxFiles =
                                Files.list(dead.resolve(UploadOutbox.DIRECTORY))) {
                            outboxFiles.forEach(files::add);
                        }
                    },
                    Instant.now());
        }
        return files;
    }

    @Test
    @DisplayName(
            "a closed session stays if its outbox has files, else it is removed with its marks")
    void closed() throws Exception {
        ProcessSession session = ProcessSession.begin(directory);
        Path outboxFile =
                Files.createFile(session.subdirectory(UploadOutbox.DIRECTORY).resolve("note"));
        Files.createFile(session.file(RestoreQuarantine.MARKS_FILE));
        session.close();
        assertEquals(
                List.of(outboxFile),
                inheritedFiles(),
                "an outbox with files stays: another process may have the bucket");
        Files.delete(outboxFile);
        assertEquals(List.of(), inheritedFiles());
        assertEquals(List.of(), sessions());
        ProcessSession empty = ProcessSession.begin(directory);
        empty.subdirectory(UploadOutbox.DIRECTORY);
        Files.createFile(empty.file(RestoreQuarantine.MARKS_FILE));
        empty.close();
        assertEquals(List.of(), sessions());
    }

    private List<Path> sessions() throws IOException {
        try (Stream<Path> stream = Files.list(directory.resolve("sessions"))) {
            return stream.toList();
        }
    }

    @Test
    @DisplayName("marks: a completed restore leaves none, one under way is put into quarantine for"
            + " a day")
    void marks() throws Exception {
        TestEntries entries = new TestEntries("ProcessSessionTest");
        Entry first = entries.entry(10);
        Entry second = entries.entry(10);
        Entry third = entries.entry(10);
        Instant now = Instant.parse("2026-01-02T00:00:00Z");
        Path dead = Files.createDirectories(directory.resolve("left"));
        try (ProcessSession session = ProcessSession.begin(directory)) {
            RestoreQuarantine quarantine = new RestoreQuarantine(directory, session, () -> now);
            Path running = session.file(RestoreQuarantine.MARKS_FILE);
            assertFalse(Files.exists(running), "no restore, no file");
            quarantine.begin(first).close();
            RestoreQuarantine.Restore done = quarantine.begin(first);
            RestoreQuarantine.Restore underWay = quarantine.begin(second);
            done.close();
            quarantine.begin(third).close();
            assertEquals(
                    Set.of(second.id().hash().hex() + "-" + second.contentHash().hex()),
                    RestoreQuarantine.marks(running));
            // the restore started long before it ended the process
            Path left = Files.copy(running, dead.resolve(RestoreQuarantine.MARKS_FILE));
            Files.write(left, new byte[63], StandardOpenOption.APPEND);
            Files.setLastModifiedTime(left, FileTime.from(now.minus(Duration.ofDays(2))));
            quarantine.inherit(dead);
            assertTrue(quarantine.contains(second));
            assertFalse(quarantine.contains(first));
            assertFalse(quarantine.contains(third));
            assertFalse(Files.exists(left));
            quarantine.inherit(dead);
            underWay.close();
            assertEquals(Set.of(), RestoreQuarantine.marks(running));
            quarantine.begin(first);
            quarantine.close();
            assertFalse(Files.exists(running));
            quarantine.begin(first).close(); // after the end: not marked, and no failure
            assertFalse(Files.exists(running));
        }
        for (Duration later : List.of(Duration.ofHours(23), Duration.ofHours(25))) {
            try (ProcessSession session = ProcessSession.begin(directory)) {
                boolean isYoung = later.toHours() < 24;
                RestoreQuarantine quarantine =
                        new RestoreQuarantine(directory, session, () -> now.plus(later));
                assertEquals(isYoung, quarantine.contains(second));
                assertEquals(isYoung ? 1 : 0, count(directory.resolve("quarantine")));
            }
        }
    }

    private static long count(Path files) throws IOException {
        return list(files).size();
    }

    private static List<Path> list(Path files) throws IOException {
        try (Stream<Path> stream = Files.list(files)) {
            return stream.toList();
        }
    }

    @Test
    @DisplayName("an outbox inherits the files of its bucket; others stay, but"
            + " unfinished ones of its bucket are removed")
    void files() throws Exception {
        TestEntries entries = new TestEntries("ProcessSessionTest.notes");
        Id ownId = entries.id();
        Id otherId = entries.id();
        Path dead;
        try (ProcessSession session = ProcessSession.begin(directory)) {
            new UploadOutbox(session, "s3://ours").add(ownId);
            new UploadOutbox(session, "s3://others").add(otherId);
            dead = Files.createDirectories(directory.resolve("dead"));
            Files.move(
                    session.subdirectory(UploadOutbox.DIRECTORY),
                    dead.resolve(UploadOutbox.DIRECTORY));
        }
        Path files = dead.resolve(UploadOutbox.DIRECTORY);
        Path otherBucket = list(files).stream()
                .filter(file ->
                        file.getFileName().toString().startsWith(otherId.hash().hex()))
                .findFirst()
                .orElseThrow();
        Path pending = list(files).stream()
                .filter(file -> !file.equals(otherBucket))
                .findFirst()
                .orElseThrow();
        Files.copy(pending, files.resolve("under-another-name"));
        byte[] note = Files.readAllBytes(pending);
        Files.write(files.resolve("unfinished"), Arrays.copyOf(note, note.length - 1));
        Path large = Files.write(files.resolve("too-large"), new byte[Id.MAX_BYTES + 1]);
        Path empty = Files.createFile(files.resolve("empty"));
        try (ProcessSession session = ProcessSession.begin(directory)) {
            List<Id> inheritedIds = new ArrayList<>();
            new UploadOutbox(session, "s3://ours").inherit(dead, inheritedIds::add);
            assertEquals(List.of(ownId), inheritedIds);
            assertEquals(Set.of(otherBucket, large, empty), Set.copyOf(list(files)));
            assertEquals(
                    1,
                    count(session.subdirectory(UploadOutbox.DIRECTORY)),
                    "it is recorded here before it is reported");
            new UploadOutbox(session, "s3://ours").remove(ownId);
            assertEquals(0, count(session.subdirectory(UploadOutbox.DIRECTORY)));
        }
    }

    @Test
    @DisplayName("the notes of a process that ran for months stay for 30 days after the newest")
    void longRunning() throws Exception {
        Path old = outboxFile("00000000000000aa");
        Path outbox = Objects.requireNonNull(old.getParent());
        Path session = Objects.requireNonNull(outbox.getParent());
        Path newest = Files.createFile(outbox.resolve("newest"));
        Files.createFile(session.resolve("lock"));
        Instant now = Instant.now();
        for (Path before : List.of(old, outbox, session)) {
            Files.setLastModifiedTime(before, FileTime.from(now.minus(Duration.ofDays(90))));
        }
        Files.setLastModifiedTime(newest, FileTime.from(now));
        try (ProcessSession other = ProcessSession.begin(directory)) {
            other.inheritDead(_ -> {}, now.plus(Duration.ofDays(30)));
            assertTrue(Files.exists(old) && Files.exists(newest));
            other.inheritDead(_ -> {}, now.plus(Duration.ofDays(30)).plusSeconds(2));
            assertFalse(Files.exists(session));
        }
    }

    private Path outboxFile(String session) throws Exception {
        Path outbox = Files.createDirectories(
                directory.resolve("sessions").resolve(session).resolve(UploadOutbox.DIRECTORY));
        return Files.createFile(outbox.resolve("note"));
    }
}
