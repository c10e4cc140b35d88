package dev.granary.coordinator.transfer;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Scanner of a tree. Between the top and the directory of an entry are the hash and perhaps a
 * parent directory, such as one for a backend. Links are not followed.
 */
final class TreeScanner {
    private static final int MAX_DEPTH = 3;
    private static final int MAX_SIZE_FILE_BYTES = 64;
    private static final Pattern NUMBER = Pattern.compile("\\s*[0-9]+\\s*");

    private final List<Path> entries = new ArrayList<>();
    private long bytes;
    private long foreign;

    /**
     * Files in one directory.
     *
     * @param files the names that belong to an entry
     * @param bytes the sum of their lengths in bytes
     * @param foreign the number of other files
     */
    record EntryFiles(Set<String> files, long bytes, long foreign) {}

    private TreeScanner() {}

    /** Scans a tree. */
    static TreeScanner of(Path root) throws IOException {
        TreeScanner scan = new TreeScanner();
        if (Files.isDirectory(root)) {
            scan.visit(root, 0);
        }
        return scan;
    }

    /** Returns the directories with an entry or a part of one, by name. */
    List<Path> entries() {
        return entries;
    }

    /** Returns the length of all files of entries in bytes. */
    long bytes() {
        return bytes;
    }

    /** Returns the number of files, links and directories that do not belong to a tree. */
    long foreign() {
        return foreign;
    }

    private void visit(Path directory, int depth) throws IOException {
        EntryFiles content = entryFiles(directory);
        if (!content.files().isEmpty() && !content.files().equals(Set.of(TreeNames.ABOUT))) {
            entries.add(directory);
            bytes += content.bytes();
            foreign += content.foreign();
            return;
        }
        for (Path child : children(directory)) {
            if (depth == 0 && isInternal(child)) {
                continue;
            }
            if (depth < MAX_DEPTH && RegularFiles.isDirectory(child)) {
                visitChild(child, depth + 1);
            } else {
                foreign++;
            }
        }
    }

    private void visitChild(Path child, int depth) throws IOException {
        try {
            visit(child, depth);
        } catch (AccessDeniedException e) {
            foreign++; // such as lost+found
        } catch (NoSuchFileException e) {
            return; // removed concurrently
        }
    }

    private static boolean isInternal(Path child) {
        String name = child.getFileName().toString();
        return name.equals(TreeNames.SIZE) || name.startsWith(TreeNames.STAGING_PREFIX);
    }

    /** Returns the files of an entry in a directory. */
    static EntryFiles entryFiles(Path directory) throws IOException {
        Set<String> files = new HashSet<>();
        long bytes = 0;
        long foreign = 0;
        for (Path child : children(directory)) {
            String name = child.getFileName().toString();
            boolean isNamed = name.equals(TreeNames.KEY)
                    || name.equals(TreeNames.ABOUT)
                    || TreeNames.kernelIndex(name).isPresent();
            BasicFileAttributes attributes = RegularFiles.attributes(child);
            if (isNamed && attributes.isRegularFile()) {
                files.add(name);
                bytes += attributes.size();
            } else {
                foreign++;
            }
        }
        return new EntryFiles(files, bytes, foreign);
    }

    static boolean isEmpty(Path directory) throws IOException {
        try (DirectoryStream<Path> children = Files.newDirectoryStream(directory)) {
            return !children.iterator().hasNext();
        }
    }

    /** Returns true if the file at the top marks a tree: it contains a number of bytes. */
    static boolean isMarked(Path directory) throws IOException {
        Path marker = directory.resolve(TreeNames.SIZE);
        return RegularFiles.isRegular(marker)
                && Files.size(marker) <= MAX_SIZE_FILE_BYTES
                && NUMBER.matcher(new String(Files.readAllBytes(marker), ISO_8859_1))
                        .matches();
    }

    private static List<Path> children(Path directory) throws IOException {
        List<Path> children = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(directory)) {
            all.forEach(children::add);
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        children.sort(null);
        return children;
    }
}
