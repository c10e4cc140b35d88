package dev.granary.coordinator.machine;

import dev.granary.cache.Id;
import dev.granary.cache.support.FileTrees;
import dev.granary.cache.support.Warnings;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * List of the uploads of one bucket that this process has not finished, as one small file per entry
 * with the bucket and the id. The entry itself is in the local tier. The next process takes over
 * the files of a dead one. Thread-safe.
 */
public final class UploadOutbox {
    /** The name of its subdirectory in a {@link ProcessSession}. */
    public static final String DIRECTORY = "outbox";

    private final Path directory;
    private final byte[] head; // of its notes, before the id; no name of a bucket contains a zero

    public UploadOutbox(ProcessSession session, String bucket) throws IOException {
        this.directory = session.subdirectory(DIRECTORY);
        this.head = (bucket + "\0").getBytes(StandardCharsets.UTF_8);
    }

    /** Adds the upload of {@code id}; returns false, and logs the cause, if that fails. */
    public boolean add(Id id) {
        try (OutputStream out = Files.newOutputStream(file(id))) {
            out.write(head);
            out.write(id.bytes());
            return true;
        } catch (IOException e) {
            Warnings.warn(
                    "outbox",
                    "The outbox cannot be written, so uploads do not survive this process: " + e);
            return false;
        }
    }

    private Path file(Id id) {
        return directory.resolve(id.hash().hex());
    }

    /** Removes the upload of {@code id}. A failure is logged. */
    public void remove(Id id) {
        try {
            Files.deleteIfExists(file(id));
        } catch (IOException e) {
            Warnings.warn(
                    "outbox",
                    "The outbox cannot be written; an entry will be uploaded again: " + e);
        }
    }

    /**
     * Moves the uploads of a dead session to the same bucket into this outbox, and passes each id
     * to {@code inherited}. All other files stay for a process with their bucket, if any.
     */
    public void inherit(Path deadSession, Consumer<Id> inherited) throws IOException {
        for (Path file : FileTrees.list(deadSession.resolve(DIRECTORY))) {
            if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                    || Files.size(file) > Id.MAX_BYTES) {
                continue; // no version writes one, and opening a pipe would block
            }
            byte[] note = Files.readAllBytes(file);
            if (Arrays.mismatch(head, note) == head.length) {
                Optional<Id> id = Id.parse(Arrays.copyOfRange(note, head.length, note.length))
                        .filter(parsed -> file.endsWith(parsed.hash().hex()));
                if (id.isPresent()) {
                    Files.move(file, file(id.get()), StandardCopyOption.ATOMIC_MOVE);
                    inherited.accept(id.get());
                } else { // a process was killed while it wrote the note
                    Files.delete(file);
                }
            }
        }
    }
}
