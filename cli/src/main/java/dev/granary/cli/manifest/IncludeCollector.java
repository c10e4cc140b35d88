package dev.granary.cli.manifest;

import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.source.PreprocessedText;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.FileVisitOption;
import java.nio.file.FileVisitResult;
import java.nio.file.FileVisitor;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Collector of the files that the sources of a kernel may include. Used once, by one thread.
 *
 * <p>An included file is searched beside the including file and in all include directories. Every
 * match becomes a header: the compiler chooses in its own order, but only among hashed files. A
 * name without a match is left to the compiler: it may be in an untaken branch, or belong to the
 * driver. If a macro expands to the name, all files of the include directories and of the source's
 * directory become headers, with the files that they include. The directories of further sources
 * are include directories.
 */
final class IncludeCollector {
    private static final String DEEP = "/d/d/d/d";
    private static final int MAX_FILES = 10_000;

    private final KernelSourceResolver.SourceFileReader reader;
    private final List<Location> roots = new ArrayList<>();
    private final KernelDescriptor.Builder builder;
    private final Map<String, Path> headers = new LinkedHashMap<>();
    private final Deque<PendingFile> toScan = new ArrayDeque<>();
    private boolean hasComputedInclude;
    private boolean hasUnseen; // a file that was not collected may be included

    /**
     * A directory that is searched for included files, or a file in it.
     *
     * @param place its path in the compiler's tree, relative to the source; the same on every
     *     machine
     */
    private record Location(Path path, Path place) {
        Location resolve(String name) {
            return new Location(
                    path.resolve(name).normalize(), place.resolve(name).normalize());
        }

        Location directory() {
            Path parent = place.getParent();
            return new Location(parentOf(path), parent == null ? Path.of("") : parent);
        }
    }

    /** A text whose includes are still to be collected, and the directory of its file. */
    private record PendingFile(Location directory, String text) {}

    /** Creates a collector that searches the own and the include directories of a kernel. */
    IncludeCollector(
            KernelSpec kernel,
            KernelSourceResolver.SourceFileReader reader,
            KernelDescriptor.Builder builder)
            throws IOException {
        this.reader = reader;
        this.builder = builder;
        this.hasUnseen =
                kernel.options().stream().anyMatch(option -> option.startsWith("-include"));
        Path sourceDirectory = parentOf(kernel.sources().getFirst());
        roots.add(new Location(sourceDirectory, Path.of("")));
        kernel.sources().stream()
                .map(IncludeCollector::parentOf)
                .distinct()
                .skip(1)
                .forEach(this::addRoot);
        for (Path directory : kernel.includeDirectories()) {
            if (!Files.isDirectory(directory)) {
                throw new IOException("there is no include directory " + directory
                        + ": correct include or -I in the manifest");
            }
            if (!directory.equals(sourceDirectory)) { // that one is always searched first
                addRoot(directory);
            }
        }
    }

    private void addRoot(Path directory) {
        Path sourceDirectory = roots.getFirst().path();
        roots.add(new Location(
                directory,
                directory.startsWith(sourceDirectory)
                        ? sourceDirectory.relativize(directory)
                        : Path.of("include-" + roots.size() + DEEP))); // deep enough for "../"
    }

    /** Collects the files that the sources include, by their paths in the compiler's tree. */
    Map<String, Path> collect(List<String> texts) throws IOException {
        texts.forEach(text -> toScan.add(new PendingFile(roots.getFirst(), text)));
        scan();
        if (hasComputedInclude) {
            collectAll();
            scan();
            if (!hasUnseen) {
                builder.everyFileListed();
            }
        }
        roots.stream()
                .skip(1)
                .forEach(root -> builder.includeDirectory(root.place().toString()));
        return headers;
    }

    private void scan() throws IOException {
        while (!toScan.isEmpty()) {
            PendingFile pending = toScan.remove();
            PreprocessedText text = PreprocessedText.of(pending.text());
            hasComputedInclude |= text.hasComputed();
            for (String name : text.names()) {
                if (!isRelative(name)) {
                    hasUnseen = true; // not in the tree that the compiler gets
                    continue;
                }
                List<Location> searched = new ArrayList<>(roots);
                searched.addFirst(pending.directory());
                for (Location directory : searched) {
                    if (Files.isRegularFile(directory.resolve(name).path())) {
                        add(directory.resolve(name));
                    }
                }
            }
        }
    }

    private void add(Location found) throws IOException {
        if (!headers.containsKey(found.place().toString())) {
            String text = reader.text(found.path());
            builder.header(found.place().toString(), text);
            headers.put(found.place().toString(), found.path());
            toScan.add(new PendingFile(found.directory(), text));
        }
    }

    private static boolean isRelative(String name) {
        try {
            return !Path.of(name).isAbsolute();
        } catch (InvalidPathException e) {
            return false;
        }
    }

    private void collectAll() throws IOException {
        int files = 0;
        for (Location root : roots) {
            for (Path file : filesBelow(root.path())) {
                if (++files > MAX_FILES) {
                    throw new IOException("there are more than " + MAX_FILES
                            + " files in the include directories; name smaller ones");
                }
                add(root.resolve(root.path().relativize(file).toString()));
            }
        }
    }

    /** Returns the regular files in a directory, sorted. A loop of symbolic links is skipped. */
    private static List<Path> filesBelow(Path directory) throws IOException {
        List<Path> files = new ArrayList<>();
        FileVisitor<Path> visitor = new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes kind) {
                if (kind.isRegularFile()) {
                    files.add(file);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                if (e instanceof FileSystemLoopException) { // its files are there without it
                    return FileVisitResult.CONTINUE;
                }
                throw e;
            }
        };
        try {
            Files.walkFileTree(
                    directory,
                    EnumSet.of(FileVisitOption.FOLLOW_LINKS),
                    Integer.MAX_VALUE,
                    visitor);
        } catch (IOException e) {
            throw new IOException(
                    "the include directory " + directory + " cannot be read: " + e, e);
        }
        files.sort(null);
        return files;
    }

    private static Path parentOf(Path file) {
        Path parent = file.toAbsolutePath().getParent();
        return parent == null ? file.toAbsolutePath() : parent;
    }
}
