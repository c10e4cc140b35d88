package dev.granary.coordinator.transfer;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Writes entries as a plain tree of files, into a new directory or over an earlier export. Not thread-safe.
 *
 * <p>Each entry is written aside and renamed into place as a whole: an interrupted export holds whole entries only, and the next one
 * completes it.
 */
public final class TreeWriter {
    private static final int MOST_WITH_ONE_HASH = 1000;

    private final Path root;
    private final Mode mode;
    private final RandomGenerator random;

    /** What may be written. */
    public enum Mode {
        /** All of it. */
        WRITE,
        /** Nothing: what would be written is only told. */
        DRY_RUN
    }

    /** What became of an entry. */
    public enum Outcome {
        /** It was not there. */
        WRITTEN,
        /** Another version of it was there, or a damaged one. */
        REPLACED,
        /** It was there with the same content; nothing was written. */
        PRESENT
    }

    /** A place for an entry: a directory, and what it is there. */
    private record Place(Path directory, Outcome outcome) {}

    private TreeWriter(Path root, Mode mode, RandomGenerator random) {
        this.root = root;
        this.mode = mode;
        this.random = random;
    }

    /**
     * Begins an export into {@code root}, which is created where it is missing.
     *
     * @throws TreeException if something else lies there
     * @throws IOException if it cannot be read or created
     */
    public static TreeWriter into(Path root, Mode mode, RandomGenerator random) throws TreeException, IOException {
        Path directory = root.toAbsolutePath().normalize();
        boolean isThere = Files.exists(directory);
        if (isThere && !Files.isDirectory(directory)) {
            throw new TreeException(root + " is not a directory; name a new or empty one to export to");
        }
        if (isThere && !TreeScanner.isEmpty(directory) && !TreeScanner.isMarked(directory)) {
            throw new TreeException(root + " is not empty and holds no export (there is no " + TreeNames.SIZE + " with a number of bytes);"
                    + " name a new or empty directory");
        }
        TreeWriter export = new TreeWriter(directory, mode, random);
        if (mode == Mode.WRITE) {
            Files.createDirectories(directory);
            StagingDirectory.removeStale(directory);
            if (!TreeScanner.isMarked(directory)) {
                export.writeSize(0);
            }
        }
        return export;
    }

    /**
     * Writes one entry, or tells what writing it would do.
     *
     * @throws IOException if it cannot be written; nothing half-written stays
     */
    public Outcome write(Entry entry) throws IOException {
        Map<String, MemorySegment> files = files(entry);
        Place place = place(entry, files);
        if (mode == Mode.DRY_RUN || place.outcome() == Outcome.PRESENT) {
            return place.outcome();
        }
        Path aside = Files.createDirectory(StagingDirectory.name(root, random));
        try {
            for (Map.Entry<String, MemorySegment> file : files.entrySet()) {
                RegularFiles.write(aside.resolve(file.getKey()), file.getValue());
            }
            Files.createDirectories(root.resolve(entry.id().hash().hex()));
            if (place.outcome() == Outcome.REPLACED) {
                Path old = StagingDirectory.name(root, random);
                Files.move(place.directory(), old, StandardCopyOption.ATOMIC_MOVE);
                StagingDirectory.remove(old);
            }
            Files.move(aside, place.directory(), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            StagingDirectory.remove(aside);
        }
        return place.outcome();
    }

    /**
     * Ends the export: counts the bytes of the whole tree, earlier exports included, and notes them in {@code size.txt}.
     *
     * @return the bytes
     */
    public long finish() throws IOException {
        long bytes = TreeScanner.of(root).bytes();
        if (mode == Mode.WRITE) {
            writeSize(bytes);
        }
        return bytes;
    }

    private static Map<String, MemorySegment> files(Entry entry) {
        Map<String, MemorySegment> files = new LinkedHashMap<>();
        files.put(TreeNames.KEY, MemorySegment.ofArray(entry.id().bytes()));
        for (int i = 0; i < entry.binaries().count(); i++) {
            files.put(TreeNames.kernel(i), entry.binaries().binary(i));
        }
        files.put(TreeNames.ABOUT, MemorySegment.ofArray(EntryDescription.text(entry).getBytes(UTF_8)));
        return files;
    }

    /** Where the entry lies or will: the first number under its hash that is free or has its key. */
    private Place place(Entry entry, Map<String, MemorySegment> files) throws IOException {
        Path bucket = root.resolve(entry.id().hash().hex());
        if (Files.exists(bucket, LinkOption.NOFOLLOW_LINKS) && !RegularFiles.isDirectory(bucket)) {
            throw new NotDirectoryException(bucket.toString());
        }
        for (int n = 0; n < MOST_WITH_ONE_HASH; n++) {
            Path directory = bucket.resolve(Integer.toString(n));
            Optional<Outcome> outcome = outcome(directory, files);
            if (outcome.isPresent()) {
                return new Place(directory, outcome.get());
            }
        }
        throw new FileAlreadyExistsException(bucket.toString(), null, "holds " + MOST_WITH_ONE_HASH + " other keys");
    }

    /** What writing there would be; empty where something else lies there. */
    private static Optional<Outcome> outcome(Path directory, Map<String, MemorySegment> files) throws IOException {
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.of(Outcome.WRITTEN);
        }
        MemorySegment key = files.getOrDefault(TreeNames.KEY, MemorySegment.NULL);
        if (!RegularFiles.isDirectory(directory) || !RegularFiles.has(directory.resolve(TreeNames.KEY), key)) {
            return Optional.empty();
        }
        TreeScanner.Found found = TreeScanner.look(directory);
        boolean isSame = found.files().equals(files.keySet());
        for (Map.Entry<String, MemorySegment> file : files.entrySet()) {
            isSame = isSame && RegularFiles.has(directory.resolve(file.getKey()), file.getValue());
        }
        if (isSame) {
            return Optional.of(Outcome.PRESENT);
        }
        return found.foreign() == 0 ? Optional.of(Outcome.REPLACED) : Optional.empty(); // what somebody put there is not ours to remove
    }

    private void writeSize(long bytes) throws IOException {
        Path aside = StagingDirectory.name(root, random);
        try {
            Files.writeString(aside, bytes + "\n");
            Files.move(aside, root.resolve(TreeNames.SIZE), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(aside);
        }
    }
}
