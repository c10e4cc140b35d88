package dev.granary.coordinator.session;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UTFDataFormatException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * What this process still has to upload to one bucket, as one small file per entry: bucket and id. The entry itself is in the local tier. A
 * process that ends before it has uploaded leaves its files to the next one. Thread-safe.
 */
public final class UploadOutbox {
    /** Its sub-directory in a {@link ProcessSession}. */
    public static final String DIRECTORY = "outbox";

    private static final String UNFINISHED = ".part";
    private static final int SUFFIX_LENGTH = 16;

    private final Path directory;
    private final String bucket;
    private final String suffix;

    /**
     * The outbox of {@code session} for {@code bucket}.
     *
     * @throws IOException if the directory cannot be written
     */
    public UploadOutbox(ProcessSession session, String bucket) throws IOException {
        this.directory = session.subdirectory(DIRECTORY);
        this.bucket = bucket;
        this.suffix = "-" + Sha256.of(bucket.getBytes(UTF_8)).hex().substring(0, SUFFIX_LENGTH);
    }

    /** Notes that {@code id}'s entry is to be uploaded. */
    public void add(Id id) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(bucket);
            out.write(id.bytes());
        }
        Path unfinished = directory.resolve(name(id) + UNFINISHED);
        Files.write(unfinished, bytes.toByteArray());
        Files.move(unfinished, directory.resolve(name(id)), StandardCopyOption.ATOMIC_MOVE);
    }

    /** One entry may be on its way to several buckets. */
    private String name(Id id) {
        return id.hash().hex() + suffix;
    }

    /** Notes that {@code id}'s entry needs no upload any more. */
    public void remove(Id id) throws IOException {
        Files.deleteIfExists(directory.resolve(name(id)));
    }

    /** Moves what a dead session has to upload to the same bucket into this outbox, and tells each. */
    public void inherit(Path deadSession, Consumer<Id> inherited) throws IOException {
        Path theirs = deadSession.resolve(DIRECTORY);
        if (!Files.isDirectory(theirs)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(theirs)) {
            for (Path file : files) {
                switch (read(file)) {
                    case Note.Ours ours -> {
                        Files.move(file, directory.resolve(name(ours.id())), StandardCopyOption.ATOMIC_MOVE);
                        inherited.accept(ours.id());
                    }
                    case Note.OfAnotherBucket _ -> {} // waits for a process that knows the bucket
                    case Note.Unreadable _ -> Files.delete(file);
                }
            }
        }
    }

    /** What a file of a dead session says. */
    private sealed interface Note {
        record Ours(Id id) implements Note {}

        record OfAnotherBucket() implements Note {}

        record Unreadable() implements Note {}
    }

    private Note read(Path file) throws IOException {
        String name = file.getFileName().toString();
        if (name.endsWith(UNFINISHED) || Files.size(file) > Id.MAX_BYTES) {
            return new Note.Unreadable();
        }
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(Files.readAllBytes(file)))) {
            if (!in.readUTF().equals(bucket)) {
                return new Note.OfAnotherBucket();
            }
            Optional<Id> id = Id.parse(in.readAllBytes()).filter(known -> name(known).equals(name));
            return id.isPresent() ? new Note.Ours(id.get()) : new Note.Unreadable();
        } catch (EOFException | UTFDataFormatException e) {
            return new Note.Unreadable();
        }
    }
}
