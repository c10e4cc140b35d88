package dev.granary.coordinator.machine;

import dev.granary.cache.Id;
import dev.granary.cache.support.FileTrees;
import dev.granary.cache.support.Warnings;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UTFDataFormatException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
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

    private static final String TEMP_SUFFIX = ".part";

    private final Path directory;
    private final String bucket;

    /** Opens the outbox of {@code session} for {@code bucket}. */
    public UploadOutbox(ProcessSession session, String bucket) throws IOException {
        this.directory = session.subdirectory(DIRECTORY);
        this.bucket = bucket;
    }

    /** Adds the upload of {@code id}; returns false, and logs the cause, if that fails. */
    public boolean add(Id id) {
        try {
            write(id);
            return true;
        } catch (IOException e) {
            Warnings.warn(
                    "outbox",
                    "The outbox cannot be written, so uploads do not survive this process: " + e);
            return false;
        }
    }

    private void write(Id id) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(bucket);
            out.write(id.bytes());
        }
        Path temporary = directory.resolve(id.hash().hex() + TEMP_SUFFIX);
        Files.write(temporary, bytes.toByteArray());
        Files.move(temporary, file(id), StandardCopyOption.ATOMIC_MOVE);
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
     * to {@code inherited}.
     */
    public void inherit(Path deadSession, Consumer<Id> inherited) throws IOException {
        for (Path file : FileTrees.list(deadSession.resolve(DIRECTORY))) {
            if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                continue; // no version writes one, and opening a pipe would block
            }
            Optional<Note> note = read(file);
            if (note.isPresent() && !note.get().bucket().equals(bucket)) {
                continue; // left for a process with that bucket
            }
            Optional<Id> id = note.flatMap(Note::id)
                    .filter(parsed -> file.endsWith(parsed.hash().hex()));
            if (id.isPresent()) {
                Files.move(file, file(id.get()), StandardCopyOption.ATOMIC_MOVE);
                inherited.accept(id.get());
            } else {
                Files.delete(file);
            }
        }
    }

    private record Note(String bucket, Optional<Id> id) {}

    /** Returns the content of a file; empty if it is incomplete or damaged. */
    private static Optional<Note> read(Path file) throws IOException {
        if (file.toString().endsWith(TEMP_SUFFIX) || Files.size(file) > Id.MAX_BYTES) {
            return Optional.empty();
        }
        try (DataInputStream in =
                new DataInputStream(new ByteArrayInputStream(Files.readAllBytes(file)))) {
            return Optional.of(new Note(in.readUTF(), Id.parse(in.readAllBytes())));
        } catch (EOFException | UTFDataFormatException e) {
            return Optional.empty();
        }
    }
}
