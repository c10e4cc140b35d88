package dev.granary.local;

import dev.granary.cache.support.FileTrees;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Image of a directory: its files as bytes by relative path, read from disk, changed in memory, and
 * written to disk again. Immutable.
 */
public final class DirectoryImage {
    static final int PAGE = 4096;
    private static final byte[] ZEROS = new byte[PAGE];

    private final SortedMap<String, byte[]> files;

    private DirectoryImage(SortedMap<String, byte[]> files) {
        this.files = files;
    }

    static DirectoryImage empty() {
        return new DirectoryImage(new TreeMap<>());
    }

    static DirectoryImage of(Path directory) throws IOException {
        DirectoryImage tree = empty();
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path file : all.filter(
                            each -> Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS))
                    .toList()) {
                tree.files.put(directory.relativize(file).toString(), Files.readAllBytes(file));
            }
        }
        return tree;
    }

    Set<String> names() {
        return files.keySet();
    }

    boolean has(String name) {
        return files.containsKey(name);
    }

    byte[] get(String name) {
        return Objects.requireNonNull(files.get(name), name);
    }

    /** Returns this image without one file. */
    DirectoryImage with(String name, byte[] content) {
        DirectoryImage tree = new DirectoryImage(new TreeMap<>(files));
        tree.files.put(name, content);
        return tree;
    }

    DirectoryImage without(String name) {
        DirectoryImage tree = new DirectoryImage(new TreeMap<>(files));
        tree.files.remove(name);
        return tree;
    }

    /** Returns the single file whose path starts with a prefix. */
    String only(String prefix) {
        return files.keySet().stream()
                .filter(name -> name.startsWith(prefix))
                .reduce((_, _) -> {
                    throw new AssertionError(
                            "several files start with " + prefix + ": " + files.keySet());
                })
                .orElseThrow();
    }

    /** Replaces the content of the directory by this image; pages of zeros become holes. */
    void writeTo(Path directory) throws IOException {
        FileTrees.delete(directory);
        Files.createDirectories(directory, DirectoryValidator.privateDirectory(directory));
        for (var file : files.entrySet()) {
            Path path = directory.resolve(file.getKey());
            Files.createDirectories(Objects.requireNonNull(path.getParent()));
            byte[] content = file.getValue();
            try (RandomAccessFile out = new RandomAccessFile(path.toFile(), "rw")) {
                out.setLength(content.length);
                for (int at = 0; at < content.length; at += PAGE) {
                    int length = Math.min(PAGE, content.length - at);
                    if (!Arrays.equals(content, at, at + length, ZEROS, 0, length)) {
                        out.seek(at);
                        out.write(content, at, length);
                    }
                }
            }
        }
    }
}
