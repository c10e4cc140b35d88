package dev.granary.local.file;

import dev.granary.local.directory.DirectoryValidator;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;

/**
 * Names of the files in the directory: {@code v2/state} is the state page,
 * {@code v2/index-<generation>} the index, {@code v2/segments/<number>} a segment. Numbers are
 * hexadecimal. Files with other names are foreign.
 */
public final class StoreLayout {
    private static final String VERSION = "v2";
    private static final String INDEX = "index-";
    private static final int MAX_DIGITS = 15;
    private static final long LAST_GENERATION = (1L << (4 * MAX_DIGITS)) - 1;

    private final Path root;
    private final Path segments;

    public StoreLayout(Path directory) {
        this.root = directory.resolve(VERSION);
        this.segments = root.resolve("segments");
    }

    public Path root() {
        return root;
    }

    public Path state() {
        return root.resolve("state");
    }

    public Path index(long generation) {
        return root.resolve(INDEX + Long.toHexString(generation));
    }

    /**
     * Returns the first generation from {@code generation} on whose file name is free; after the
     * highest one it wraps around.
     */
    public long freeGeneration(long generation) {
        long free = generation;
        while (free > LAST_GENERATION || Files.exists(index(free), LinkOption.NOFOLLOW_LINKS)) {
            free = free >= LAST_GENERATION ? 1 : free + 1;
        }
        return free;
    }

    public Path segments() {
        return segments;
    }

    public Path segment(int number) {
        return segments.resolve(Integer.toHexString(number));
    }

    /** Returns the generation of an index file, or empty if the name is not that of an index. */
    public static OptionalLong generation(Path file) {
        String name = name(file);
        return name.startsWith(INDEX)
                ? number(name.substring(INDEX.length()))
                : OptionalLong.empty();
    }

    /** Returns the number of a segment file, or empty if the name is not that of a segment. */
    public static OptionalLong segmentNumber(Path file) {
        OptionalLong number = number(name(file));
        return number.isPresent()
                        && number.getAsLong() > 0
                        && number.getAsLong() <= EntryLocation.LAST_SEGMENT
                ? number
                : OptionalLong.empty();
    }

    private static OptionalLong number(String digits) {
        if (digits.isEmpty() || digits.length() > MAX_DIGITS || digits.charAt(0) == '0') {
            return OptionalLong.empty();
        }
        for (int i = 0; i < digits.length(); i++) {
            if ("0123456789abcdef".indexOf(digits.charAt(i)) < 0) {
                return OptionalLong.empty();
            }
        }
        return OptionalLong.of(Long.parseLong(digits, 16));
    }

    private static String name(Path file) {
        return file.getFileName().toString();
    }

    /**
     * Requires a regular file; a directory, a link or a pipe in its place counts as absent.
     *
     * @throws NoSuchFileException if there is no file
     * @throws IOException if the system reports another error: the file may exist
     */
    static void requireFile(Path file) throws IOException {
        if (!isFile(file)) {
            throw new NoSuchFileException(file.toString(), null, "not a file");
        }
    }

    /**
     * Requires a regular file or nothing, before a file is opened or created: opening a pipe could
     * block for ever.
     *
     * @throws FileSystemException if there is something other than a file
     * @throws IOException if the system reports another error
     */
    public static void requireFileOrNothing(Path file) throws IOException {
        BasicFileAttributes attributes = attributes(file);
        if (attributes != null && !attributes.isRegularFile()) {
            throw new FileSystemException(file.toString(), null, "not a file; remove it");
        }
    }

    /**
     * Opens a file for reading and writing, and creates it private to this user if it is missing.
     * Follows no link.
     */
    public static FileChannel openOrCreate(Path file) throws IOException {
        return FileChannel.open(
                file,
                Set.of(
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE,
                        StandardOpenOption.CREATE,
                        LinkOption.NOFOLLOW_LINKS),
                DirectoryValidator.privateFile(file));
    }

    /**
     * Requires a directory or nothing.
     *
     * @throws FileSystemException if there is something other than a directory
     * @throws IOException if the system reports another error
     */
    public static void requireDirectoryOrNothing(Path directory) throws IOException {
        BasicFileAttributes attributes = attributes(directory);
        if (attributes != null && !attributes.isDirectory()) {
            throw new FileSystemException(directory.toString(), null, "not a directory; remove it");
        }
    }

    /**
     * Returns whether anything has this name, of whatever kind.
     *
     * @throws IOException if the system reports another error than its absence
     */
    public static boolean exists(Path path) throws IOException {
        // the first check takes a third of the time, but is false for errors and dangling links
        return Files.exists(path) || attributes(path) != null;
    }

    private static boolean isFile(Path path) throws IOException {
        BasicFileAttributes attributes = attributes(path);
        return attributes != null && attributes.isRegularFile();
    }

    /**
     * Returns the attributes, or null if nothing has this name. Any other error leaves the presence
     * unknown, and must not look like absence.
     */
    private static @Nullable BasicFileAttributes attributes(Path path) throws IOException {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    /** Visitor of numbered files. */
    @FunctionalInterface
    public interface NumberedVisitor {
        void visit(Path file, long number) throws IOException;
    }

    /** Visits the files of all indexes. */
    public void forEachIndex(NumberedVisitor visitor) throws IOException {
        forEachNumbered(root, StoreLayout::generation, visitor);
    }

    /** Visits the files of all segments. */
    public void forEachSegment(NumberedVisitor visitor) throws IOException {
        forEachNumbered(segments, StoreLayout::segmentNumber, visitor);
    }

    private static void forEachNumbered(
            Path directory, Function<Path, OptionalLong> number, NumberedVisitor visitor)
            throws IOException {
        forEachChild(directory, path -> {
            OptionalLong parsed = number.apply(path);
            if (parsed.isPresent() && isFile(path)) {
                visitor.visit(path, parsed.getAsLong());
            }
        });
    }

    /** Visitor of the children of a directory. */
    @FunctionalInterface
    public interface PathVisitor {
        void visit(Path path) throws IOException;
    }

    /**
     * Visits the children of {@code directory}; a missing directory, a file or a link has none. A
     * child that is removed during its visit is skipped.
     */
    public static void forEachChild(Path directory, PathVisitor visitor) throws IOException {
        BasicFileAttributes attributes = attributes(directory);
        if (attributes == null || !attributes.isDirectory()) {
            return;
        }
        try (DirectoryStream<Path> children = Files.newDirectoryStream(directory)) {
            for (Path child : children) {
                visit(child, visitor);
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return; // removed in the meantime
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private static void visit(Path child, PathVisitor visitor) throws IOException {
        try {
            visitor.visit(child);
        } catch (NoSuchFileException e) {
            if (exists(child)) {
                throw new IOException("Missing beside " + child + ": " + e.getMessage(), e);
            }
        }
    }
}
