package dev.granary.cli.manifest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Target;
import dev.granary.gpu.IncludeDirectives;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Resolver that turns a kernel of a manifest into a descriptor: it reads the source and all files
 * that the source includes, directly or transitively.
 *
 * <p>An included file is searched beside the including file and in all include directories. Every
 * match becomes a header: the compiler chooses in its own order, but only among hashed files. A
 * name without a match is left to the compiler: it may be in an untaken branch, or belong to the
 * driver. If a macro expands to the name, all files of the include directories and of the source's
 * directory become headers.
 */
public final class KernelSourceResolver {
    private static final String DEEP = "/d/d/d/d";
    private static final int MAX_FILES = 10_000;
    private static final long MAX_BYTES = 64L << 20;

    private final KernelSpec kernel;
    private final List<Root> roots = new ArrayList<>();
    private final Map<String, String> headers = new LinkedHashMap<>();
    private final Map<String, Path> headerFiles = new LinkedHashMap<>();
    private long bytes;
    private boolean hasComputedInclude;
    private boolean hasUnseen;

    /**
     * A directory that is searched for included files.
     *
     * @param directory its path on this machine
     * @param place its path in the compiler's tree, relative to the source; the same on every
     *     machine
     */
    private record Root(Path directory, Path place) {
        IncludedFile file(String name) {
            return new IncludedFile(
                    directory.resolve(name).normalize(), place.resolve(name).normalize());
        }
    }

    /** A file, and its path in the tree that the compiler gets. */
    private record IncludedFile(Path file, Path place) {
        Root directory() {
            Path parent = place.getParent();
            return new Root(parentOf(file), parent == null ? Path.of("") : parent);
        }
    }

    private KernelSourceResolver(KernelSpec kernel) throws IOException {
        this.kernel = kernel;
        Path sourceDirectory = parentOf(kernel.source());
        roots.add(new Root(sourceDirectory, Path.of("")));
        for (Path directory : kernel.includeDirectories()) {
            if (!Files.isDirectory(directory)) {
                throw new IOException("there is no include directory " + directory
                        + ": correct include or -I in the manifest");
            }
            if (!directory.equals(sourceDirectory)) { // that one is always searched first
                roots.add(new Root(
                        directory,
                        directory.startsWith(sourceDirectory)
                                ? sourceDirectory.relativize(directory)
                                : Path.of("include-" + roots.size()
                                        + DEEP))); // deep enough for "../"
            }
        }
    }

    /**
     * Returns the descriptor of {@code kernel} for {@code target}.
     *
     * @throws IOException if a file cannot be read, or there are too many; with a message for the
     *     user
     */
    public static KernelDescriptor descriptor(KernelSpec kernel, Target target) throws IOException {
        return resolve(kernel, target).descriptor();
    }

    /** A descriptor, and the files that it was created from. */
    public record Resolved(KernelDescriptor descriptor, KernelSources sources) {}

    /**
     * Returns the descriptor like {@link #descriptor}, with its files: build logs show them in
     * place of the compiler's copies.
     *
     * @throws IOException as {@link #descriptor}
     */
    public static Resolved resolve(KernelSpec kernel, Target target) throws IOException {
        KernelSourceResolver resolver = new KernelSourceResolver(kernel);
        KernelDescriptor descriptor = resolver.resolve(target);
        return new Resolved(descriptor, new KernelSources(kernel.source(), resolver.headerFiles));
    }

    private KernelDescriptor resolve(Target target) throws IOException {
        String source = text(kernel.source());
        if (source.isBlank()) {
            throw new IOException(kernel.source() + " is empty: correct source in the manifest");
        }
        KernelDescriptor.Builder builder = KernelDescriptor.builder(target, kernel.name())
                .source(source)
                .options(kernel.options());
        collect(source);
        if (hasComputedInclude) {
            collectAll();
            if (!hasUnseen) {
                builder.everyFileListed();
            }
        }
        headers.forEach(builder::header);
        roots.stream()
                .skip(1)
                .forEach(root -> builder.includeDirectory(root.place().toString()));
        kernel.entries().forEach(builder::entry);
        kernel.geometry().ifPresent(builder::launch);
        return builder.build();
    }

    /** Collects the files that {@code source} includes, transitively. */
    private void collect(String source) throws IOException {
        record PendingFile(Root directory, String text) {}
        Deque<PendingFile> toScan =
                new ArrayDeque<>(List.of(new PendingFile(roots.getFirst(), source)));
        hasUnseen = kernel.options().stream().anyMatch(option -> option.startsWith("-include"));
        while (!toScan.isEmpty()) {
            PendingFile pending = toScan.remove();
            IncludeDirectives directives = IncludeDirectives.of(pending.text());
            hasComputedInclude |= directives.hasComputed();
            for (String name : directives.names()) {
                for (IncludedFile found : find(pending.directory(), name)) {
                    if (!headers.containsKey(found.place().toString())) {
                        String text = text(found.file());
                        headers.put(found.place().toString(), text);
                        headerFiles.put(found.place().toString(), found.file());
                        toScan.add(new PendingFile(found.directory(), text));
                    }
                }
            }
        }
    }

    private List<IncludedFile> find(Root includer, String name) {
        if (!isRelative(name)) {
            hasUnseen = true; // not in the tree that the compiler gets
            return List.of();
        }
        Stream<Root> searched = Stream.concat(Stream.of(includer), roots.stream());
        return searched.map(root -> root.file(name))
                .filter(found -> Files.isRegularFile(found.file()))
                .toList();
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
        for (Root root : roots) {
            try (Stream<Path> all = Files.walk(root.directory(), FileVisitOption.FOLLOW_LINKS)) {
                for (Path file :
                        (Iterable<Path>) all.filter(Files::isRegularFile).sorted()::iterator) {
                    if (++files > MAX_FILES) {
                        throw new IOException("there are more than " + MAX_FILES
                                + " files in the include directories; name smaller ones");
                    }
                    IncludedFile found =
                            root.file(root.directory().relativize(file).toString());
                    if (!headers.containsKey(found.place().toString())) {
                        headers.put(found.place().toString(), text(file));
                        headerFiles.put(found.place().toString(), file);
                    }
                }
            } catch (UncheckedIOException e) {
                throw new IOException(
                        "the include directory " + root.directory() + " cannot be read: "
                                + e.getCause(),
                        e);
            }
        }
    }

    private String text(Path file) throws IOException {
        try {
            BasicFileAttributes kind = Files.readAttributes(file, BasicFileAttributes.class);
            if (kind.isDirectory()) {
                throw new IOException(file + " is a directory: name a file in it");
            }
            if (!kind.isRegularFile()) { // opening a pipe blocks until a writer opens it
                throw new IOException(file + " is a pipe, a device or a socket: name a file");
            }
            try (InputStream in = Files.newInputStream(file)) {
                // Memory is allocated for bytes that were read, never from a declared length.
                byte[] content = in.readNBytes((int) (MAX_BYTES - bytes) + 1);
                bytes += content.length;
                if (bytes > MAX_BYTES) {
                    throw new IOException("there are more than " + (MAX_BYTES >> 20)
                            + " MiB of sources and headers; name smaller directories");
                }
                return new String(content, UTF_8);
            }
        } catch (NoSuchFileException e) {
            throw new IOException(
                    "there is no file " + file + ": correct source in the manifest", e);
        } catch (FileSystemException e) {
            throw new IOException(file + " cannot be read: " + e, e);
        } catch (OutOfMemoryError e) {
            // other kernels may fit
            throw new IOException(file + " needs more memory than this process has left", e);
        }
    }

    private static Path parentOf(Path file) {
        Path parent = file.toAbsolutePath().getParent();
        return parent == null ? file.toAbsolutePath() : parent;
    }
}
