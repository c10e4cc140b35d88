package dev.granary.coordinator.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.ChildProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of sessions that other processes left. */
final class ProcessSessionTest {
    @TempDir
    private Path directory;

    @Test
    @DisplayName("A3 L7 a session whose lock file the system does not show is not removed; one without a lock file is")
    void hiddenLock() throws Exception {
        Path note = note("hidden");
        Path left = note("left");
        Path lock = Objects.requireNonNull(note.getParent()).resolveSibling("lock");
        Files.createSymbolicLink(lock, lock.getFileName()); // leads to itself: an error for root as well
        try (ProcessSession session = ProcessSession.begin(directory)) {
            session.adoptDead(_ -> {}, Instant.now());
        }
        assertTrue(Files.exists(note));
        assertFalse(Files.exists(left));
    }

    @Test
    @DisplayName("R21 a session of a process that lives is left alone; what it has to upload is inherited once it has ended")
    void livingProcess() throws Exception {
        Process living = ChildProcess.start(ChildProcess.WAITS_IN_UPLOAD, directory);
        try {
            ChildProcess.awaitLine(living, ChildProcess.WAITS_IN_UPLOAD);
            assertEquals(List.of(), inherited());
        } finally {
            living.destroyForcibly().waitFor();
        }
        assertEquals(1, inherited().size());
    }

    /** The notes that a session inherits, in each dead session that has any; they stay where they are. */
    private List<Path> inherited() throws IOException {
        List<Path> notes = new ArrayList<>();
        try (ProcessSession session = ProcessSession.begin(directory)) {
            session.adoptDead(dead -> {
                try (Stream<Path> files = Files.list(dead.resolve(UploadOutbox.DIRECTORY))) {
                    files.forEach(notes::add);
                }
            }, Instant.now());
        }
        return notes;
    }

    @Test
    @DisplayName("R21 a session that is closed stays with its notes, and goes with its marks where it has none; another one is inherited and goes")
    void closed() throws Exception {
        ProcessSession session = ProcessSession.begin(directory);
        Path note = Files.createFile(session.subdirectory(UploadOutbox.DIRECTORY).resolve("note"));
        session.subdirectory(RestoreQuarantine.TRYING);
        session.close();
        assertEquals(List.of(note), inherited(), "an outbox that is not empty stays: another process may know the bucket");
        Files.delete(note);
        assertEquals(List.of(), inherited());
        assertEquals(List.of(), sessions());
        ProcessSession empty = ProcessSession.begin(directory);
        empty.subdirectory(UploadOutbox.DIRECTORY);
        empty.subdirectory(RestoreQuarantine.TRYING);
        empty.close();
        assertEquals(List.of(), sessions());
    }

    private List<Path> sessions() throws IOException {
        try (Stream<Path> all = Files.list(directory.resolve("sessions"))) {
            return all.toList();
        }
    }

    @Test
    @DisplayName("N7 marks of restores: one that ended leaves none; foreign names and marks of a day ago go, younger ones hold")
    void marks() throws Exception {
        Entry tried = new TestEntries("ProcessSessionTest").entry(10);
        Instant now = Instant.parse("2026-01-02T00:00:00Z");
        Path left;
        try (ProcessSession session = ProcessSession.begin(directory)) {
            Path trying = session.subdirectory(RestoreQuarantine.TRYING);
            RestoreQuarantine quarantine = new RestoreQuarantine(directory, session, () -> now);
            quarantine.begin(tried);
            assertEquals(1, count(trying));
            quarantine.end(tried);
            assertEquals(0, count(trying));
            quarantine.begin(tried);
            left = Files.createDirectories(directory.resolve("left"));
            Path marks = Files.createDirectory(left.resolve(RestoreQuarantine.TRYING));
            for (Path mark : list(trying)) {
                Path moved = Files.move(mark, marks.resolve(mark.getFileName()));
                Files.setLastModifiedTime(moved, FileTime.from(now.minus(Duration.ofDays(2)))); // the restore began long before it ended the process
            }
            Files.createFile(marks.resolve("foreign"));
            assertFalse(quarantine.holds(tried));
            quarantine.inherit(left);
            assertTrue(quarantine.holds(tried));
            assertEquals(0, count(marks), "nobody knows what a foreign name means");
        }
        for (Duration later : List.of(Duration.ofHours(23), Duration.ofHours(25))) {
            try (ProcessSession session = ProcessSession.begin(directory)) {
                boolean isYoung = later.toHours() < 24;
                RestoreQuarantine quarantine = new RestoreQuarantine(directory, session, () -> now.plus(later));
                assertEquals(isYoung, quarantine.holds(tried));
                assertEquals(isYoung ? 1 : 0, count(directory.resolve("quarantine")));
            }
        }
    }

    private static long count(Path files) throws IOException {
        return list(files).size();
    }

    private static List<Path> list(Path files) throws IOException {
        try (Stream<Path> all = Files.list(files)) {
            return all.toList();
        }
    }

    @Test
    @DisplayName("R21 an outbox takes its own bucket's notes; those of another bucket stay, and what no note can be goes")
    void notes() throws Exception {
        TestEntries entries = new TestEntries("ProcessSessionTest.notes");
        Id ours = entries.id();
        Id others = entries.id();
        Path dead;
        try (ProcessSession session = ProcessSession.begin(directory)) {
            new UploadOutbox(session, "s3://ours").add(ours);
            new UploadOutbox(session, "s3://others").add(others);
            dead = Files.createDirectories(directory.resolve("dead"));
            Files.move(session.subdirectory(UploadOutbox.DIRECTORY), dead.resolve(UploadOutbox.DIRECTORY));
        }
        Path notes = dead.resolve(UploadOutbox.DIRECTORY);
        Path another = list(notes).stream().filter(file -> file.getFileName().toString().startsWith(others.hash().hex())).findFirst().orElseThrow();
        Path mine = list(notes).stream().filter(file -> !file.equals(another)).findFirst().orElseThrow();
        Files.copy(mine, notes.resolve("under-another-name"));
        Files.copy(mine, notes.resolve(mine.getFileName() + ".part"));
        Files.write(notes.resolve("too-large"), new byte[Id.MAX_BYTES + 1]);
        Files.createFile(notes.resolve("empty"));
        try (ProcessSession session = ProcessSession.begin(directory)) {
            List<Id> told = new ArrayList<>();
            new UploadOutbox(session, "s3://ours").inherit(dead, told::add);
            assertEquals(List.of(ours), told);
            assertEquals(List.of(another), list(notes));
            assertEquals(1, count(session.subdirectory(UploadOutbox.DIRECTORY)), "it is noted here before it is told");
            new UploadOutbox(session, "s3://others").remove(ours);
            assertEquals(1, count(session.subdirectory(UploadOutbox.DIRECTORY)), "that is another bucket's note");
            new UploadOutbox(session, "s3://ours").remove(ours);
            assertEquals(0, count(session.subdirectory(UploadOutbox.DIRECTORY)));
        }
    }

    private Path note(String session) throws Exception {
        Path outbox = Files.createDirectories(directory.resolve("sessions").resolve(session).resolve(UploadOutbox.DIRECTORY));
        return Files.createFile(outbox.resolve("note"));
    }
}
