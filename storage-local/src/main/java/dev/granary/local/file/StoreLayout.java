package dev.granary.local.file;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Where things lie in the directory: {@code v2/state} is the page that all processes share, {@code v2/index-<generation>} the table of
 * entries, {@code v2/segments/<number>} what entries are made of. Numbers are hexadecimal. Whatever has another name is not ours.
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

    /** The first generation from {@code generation} on whose name nothing has; behind the last comes the first. */
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

    /** The generation of the index in that file; empty where it is none. */
    public static OptionalLong generation(Path file) {
        String name = name(file);
        return name.startsWith(INDEX) ? number(name.substring(INDEX.length())) : OptionalLong.empty();
    }

    /** The number of the segment in that file; empty where it is none. */
    public static OptionalLong segmentNumber(Path file) {
        OptionalLong number = number(name(file));
        return number.isPresent() && number.getAsLong() > 0 && number.getAsLong() <= EntryLocation.LAST_SEGMENT ? number : OptionalLong.empty();
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
     * Refuses what is no file: a directory, a link or a pipe in a file's place is as good as nothing.
     *
     * @throws NoSuchFileException if there is no file
     * @throws IOException if the system does not tell: what it does not show now may be there
     */
    static void requireFile(Path file) throws IOException {
        if (!isFile(file)) {
            throw new NoSuchFileException(file.toString(), null, "not a file");
        }
    }

    /**
     * Refuses a directory, a link, a pipe or a device in the place of a file that is opened, or created where there is nothing. To open a
     * pipe could wait for ever.
     *
     * @throws FileSystemException if there is something else than a file
     * @throws IOException if the system does not tell
     */
    public static void requireNothingElse(Path file) throws IOException {
        BasicFileAttributes there = attributes(file);
        if (there != null && !there.isRegularFile()) {
            throw new FileSystemException(file.toString(), null, "not a file; remove what is there");
        }
    }

    /**
     * Refuses a link or whatever else stands in the place of a directory.
     *
     * @throws FileSystemException if there is something else than a directory
     * @throws IOException if the system does not tell
     */
    public static void requireDirectoryOrNothing(Path directory) throws IOException {
        BasicFileAttributes there = attributes(directory);
        if (there != null && !there.isDirectory()) {
            throw new FileSystemException(directory.toString(), null, "not a directory; remove what is there");
        }
    }

    /**
     * True where something has that name, of whatever kind.
     *
     * @throws IOException if the system does not tell
     */
    public static boolean isThere(Path path) throws IOException {
        return Files.exists(path) || attributes(path) != null; // the first costs a third, but says "no" to every error and dangling link
    }

    private static boolean isFile(Path path) throws IOException {
        BasicFileAttributes there = attributes(path);
        return there != null && there.isRegularFile();
    }

    /** Null where nothing has that name. Any other error says nothing of what is there, and must not look like "nothing". */
    private static @Nullable BasicFileAttributes attributes(Path path) throws IOException {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    /** Told of a file that has a number. */
    @FunctionalInterface
    public interface NumberedVisitor {
        void visit(Path file, long number) throws IOException;
    }

    /** Visits the files of all indexes. */
    public void eachIndex(NumberedVisitor visitor) throws IOException {
        eachNumbered(root, StoreLayout::generation, visitor);
    }

    /** Visits the files of all segments. */
    public void eachSegment(NumberedVisitor visitor) throws IOException {
        eachNumbered(segments, StoreLayout::segmentNumber, visitor);
    }

    private static void eachNumbered(Path directory, Function<Path, OptionalLong> number, NumberedVisitor visitor) throws IOException {
        each(directory, path -> {
            OptionalLong known = number.apply(path);
            if (known.isPresent() && isFile(path)) {
                visitor.visit(path, known.getAsLong());
            }
        });
    }

    /** Told of each thing in a directory. */
    @FunctionalInterface
    public interface PathVisitor {
        void visit(Path path) throws IOException;
    }

    /** Visits what lies in {@code directory}; a missing directory, a file or a link holds nothing. */
    public static void each(Path directory, PathVisitor visitor) throws IOException {
        BasicFileAttributes there = attributes(directory);
        if (there == null || !there.isDirectory()) {
            return;
        }
        try (DirectoryStream<Path> children = Files.newDirectoryStream(directory)) {
            for (Path child : children) {
                visitor.visit(child);
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return; // gone meanwhile
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }
}
