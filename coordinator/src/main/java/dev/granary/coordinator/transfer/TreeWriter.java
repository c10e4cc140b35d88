package dev.granary.coordinator.transfer;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.support.FileTrees;

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
 * Writer of entries into a tree of plain files, new or from an earlier export. Not thread-safe.
 *
 * <p>Each entry is written into a staging directory and then renamed. So an interrupted export
 * contains complete entries only, and the next one completes it.
 */
public final class TreeWriter {
    private static final int MAX_ENTRIES_PER_HASH = 1000;

    private final Path root;
    private final Mode mode;
    private final RandomGenerator random;

    /** Mode of an export. */
    public enum Mode {
        /** Entries are written. */
        WRITE,
        /** Nothing is written; only the outcomes are determined. */
        DRY_RUN
    }

    /** Outcome for an entry. */
    public enum Outcome {
        /** It was absent. */
        WRITTEN,
        /** It replaced another version, or a damaged one. */
        REPLACED,
        /** It was present with the same content; nothing was written. */
        PRESENT
    }

    /** The directory of an entry, with the outcome of writing there. */
    private record Destination(Path directory, Outcome outcome) {}

    private TreeWriter(Path root, Mode mode, RandomGenerator random) {
        this.root = root;
        this.mode = mode;
        this.random = random;
    }

    /**
     * Starts an export into {@code root}, which is created if it is absent.
     *
     * @throws TreeException if {@code root} has other content
     * @throws IOException if it cannot be read or created
     */
    public static TreeWriter into(Path root, Mode mode, RandomGenerator random)
            throws TreeException, IOException {
        Path directory = root.toAbsolutePath().normalize();
        boolean exists = Files.exists(directory);
        if (exists && !Files.isDirectory(directory)) {
            throw new TreeException(
                    root + " is not a directory; name a new or empty one to export to");
        }
        if (exists && !TreeScanner.isEmpty(directory) && !TreeScanner.isMarked(directory)) {
            throw new TreeException(
                    root + " is not empty and holds no export (there is no " + TreeNames.SIZE
                            + " with a number of bytes);" + " name a new or empty directory");
        }
        TreeWriter writer = new TreeWriter(directory, mode, random);
        if (mode == Mode.WRITE) {
            Files.createDirectories(directory);
            StagingDirectory.removeStale(directory);
            if (!TreeScanner.isMarked(directory)) {
                writer.writeSize(0);
            }
        }
        return writer;
    }

    /**
     * Writes one entry, or determines the outcome of doing so.
     *
     * @throws IOException if it cannot be written; nothing incomplete remains
     */
    public Outcome write(Entry entry) throws IOException {
        Map<String, MemorySegment> files = files(entry);
        Destination destination = destination(entry, files);
        if (mode == Mode.DRY_RUN || destination.outcome() == Outcome.PRESENT) {
            return destination.outcome();
        }
        Path staging = Files.createDirectory(StagingDirectory.name(root, random));
        try {
            for (Map.Entry<String, MemorySegment> file : files.entrySet()) {
                RegularFiles.write(staging.resolve(file.getKey()), file.getValue());
            }
            Files.createDirectories(root.resolve(entry.id().hash().hex()));
            if (destination.outcome() == Outcome.REPLACED) {
                replace(destination.directory(), staging);
            } else {
                Files.move(staging, destination.directory(), StandardCopyOption.ATOMIC_MOVE);
            }
        } finally {
            FileTrees.delete(staging);
        }
        return destination.outcome();
    }

    /** Replaces a directory. If the new one cannot be moved there, the old one returns. */
    private void replace(Path directory, Path staging) throws IOException {
        Path old = StagingDirectory.name(root, random);
        Files.move(directory, old, StandardCopyOption.ATOMIC_MOVE);
        try {
            Files.move(staging, directory, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            Files.move(old, directory, StandardCopyOption.ATOMIC_MOVE);
            throw e;
        }
        FileTrees.delete(old);
    }

    /**
     * Ends the export: writes the length of the whole tree, earlier exports included, to
     * {@code size.txt}.
     *
     * @return the length in bytes
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
        files.put(
                TreeNames.ABOUT,
                MemorySegment.ofArray(EntryDescription.text(entry).getBytes(UTF_8)));
        return files;
    }

    /**
     * Returns the destination of an entry: the first number under its hash that is free or has its
     * key.
     */
    private Destination destination(Entry entry, Map<String, MemorySegment> files)
            throws IOException {
        Path hashDirectory = root.resolve(entry.id().hash().hex());
        if (Files.exists(hashDirectory, LinkOption.NOFOLLOW_LINKS)
                && !RegularFiles.isDirectory(hashDirectory)) {
            throw new NotDirectoryException(hashDirectory.toString());
        }
        for (int n = 0; n < MAX_ENTRIES_PER_HASH; n++) {
            Path directory = hashDirectory.resolve(Integer.toString(n));
            Optional<Outcome> outcome = outcome(directory, files);
            if (outcome.isPresent()) {
                return new Destination(directory, outcome.get());
            }
        }
        throw new FileAlreadyExistsException(
                hashDirectory.toString(), null, "holds " + MAX_ENTRIES_PER_HASH + " other keys");
    }

    /** Returns the outcome of writing to a directory; empty if it has other content. */
    private static Optional<Outcome> outcome(Path directory, Map<String, MemorySegment> files)
            throws IOException {
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.of(Outcome.WRITTEN);
        }
        MemorySegment key = files.getOrDefault(TreeNames.KEY, MemorySegment.NULL);
        if (!RegularFiles.isDirectory(directory)
                || !RegularFiles.has(directory.resolve(TreeNames.KEY), key)) {
            return Optional.empty();
        }
        TreeScanner.EntryFiles content = TreeScanner.entryFiles(directory);
        boolean isSame = content.files().equals(files.keySet());
        for (Map.Entry<String, MemorySegment> file : files.entrySet()) {
            isSame = isSame && RegularFiles.has(directory.resolve(file.getKey()), file.getValue());
        }
        if (isSame) {
            return Optional.of(Outcome.PRESENT);
        }
        // files of others are not removed
        return content.foreign() == 0 ? Optional.of(Outcome.REPLACED) : Optional.empty();
    }

    private void writeSize(long bytes) throws IOException {
        Path staging = StagingDirectory.name(root, random);
        try {
            Files.writeString(staging, bytes + "\n");
            Files.move(staging, root.resolve(TreeNames.SIZE), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(staging);
        }
    }
}
