package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of sessions that other processes left. */
final class SessionTest {
    @TempDir
    private Path directory;

    @Test
    @DisplayName("A3 L7 a session whose lock file the system does not show is not removed; one without a lock file is")
    void hiddenLock() throws Exception {
        Path note = note("hidden");
        Path left = note("left");
        Path lock = Objects.requireNonNull(note.getParent()).resolveSibling("lock");
        Files.createSymbolicLink(lock, lock.getFileName()); // leads to itself: an error for root as well
        try (Session session = Session.begin(directory)) {
            session.adoptDead(_ -> {}, Instant.now());
        }
        assertTrue(Files.exists(note));
        assertFalse(Files.exists(left));
    }

    private Path note(String session) throws Exception {
        Path outbox = Files.createDirectories(directory.resolve("sessions").resolve(session).resolve(Outbox.DIRECTORY));
        return Files.createFile(outbox.resolve("note"));
    }
}
