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
 * Turns a manifest's kernel into a descriptor: reads the source and every file that it includes, directly or through others.
 *
 * <p>An included file is looked for beside the including one and in all include directories, and every file found is taken along: the
 * compiler chooses among them in its own order, and what it can find is what was hashed. A name that is found nowhere is left to the
 * compiler: it may stand in a branch that is never taken, or be the driver's own. Where a macro makes the name, every file of the include
 * directories and of the source's directory is taken along.
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
    private boolean hasComputed;
    private boolean hasUnseen;

    /**
     * A directory that files are found in.
     *
     * @param directory where it is on this machine
     * @param place where it is in the tree that the compiler gets, relative to the source; the same on every machine
     */
    private record Root(Path directory, Path place) {
        Found file(String name) {
            return new Found(directory.resolve(name).normalize(), place.resolve(name).normalize());
        }
    }

    /** A file, and its place in the tree that the compiler gets. */
    private record Found(Path file, Path place) {
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
                throw new IOException("there is no include directory " + directory + ": correct include or -I in the manifest");
            }
            if (!directory.equals(sourceDirectory)) { // which is always searched, and first
                roots.add(new Root(directory, directory.startsWith(sourceDirectory)
                        ? sourceDirectory.relativize(directory)
                        : Path.of("include-" + roots.size() + DEEP))); // deep, so that "../" stays beneath
            }
        }
    }

    /**
     * The descriptor of {@code kernel} for {@code target}.
     *
     * @throws IOException if a file cannot be read or there are too many, in a sentence for people
     */
    public static KernelDescriptor descriptor(KernelSpec kernel, Target target) throws IOException {
        return read(kernel, target).descriptor();
    }

    /** A descriptor, and the files that it was made from. */
    public record Made(KernelDescriptor descriptor, KernelSources sources) {}

    /**
     * Like {@link #descriptor}, and tells the files, to name them in place of the compiler's copies.
     *
     * @throws IOException as {@link #descriptor}
     */
    public static Made read(KernelSpec kernel, Target target) throws IOException {
        KernelSourceResolver files = new KernelSourceResolver(kernel);
        KernelDescriptor descriptor = files.read(target);
        return new Made(descriptor, new KernelSources(kernel.source(), files.headerFiles));
    }

    private KernelDescriptor read(Target target) throws IOException {
        String source = text(kernel.source());
        if (source.isBlank()) {
            throw new IOException(kernel.source() + " is empty: correct source in the manifest");
        }
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(target, kernel.name()).source(source).options(kernel.options());
        collect(source);
        if (hasComputed) {
            collectAll();
            if (!hasUnseen) {
                builder.everyFileListed();
            }
        }
        headers.forEach(builder::header);
        roots.stream().skip(1).forEach(root -> builder.includeDirectory(root.place().toString()));
        kernel.entries().forEach(builder::entry);
        kernel.geometry().ifPresent(builder::launch);
        return builder.build();
    }

    /** Collects what is included from {@code source} on. */
    private void collect(String source) throws IOException {
        record Open(Root directory, String text) {}
        Deque<Open> toScan = new ArrayDeque<>(List.of(new Open(roots.getFirst(), source)));
        hasUnseen = kernel.options().stream().anyMatch(option -> option.startsWith("-include"));
        while (!toScan.isEmpty()) {
            Open open = toScan.remove();
            IncludeDirectives directives = IncludeDirectives.of(open.text());
            hasComputed |= directives.hasComputed();
            for (String name : directives.names()) {
                for (Found found : find(open.directory(), name)) {
                    if (!headers.containsKey(found.place().toString())) {
                        String text = text(found.file());
                        headers.put(found.place().toString(), text);
                        headerFiles.put(found.place().toString(), found.file());
                        toScan.add(new Open(found.directory(), text));
                    }
                }
            }
        }
    }

    private List<Found> find(Root includer, String name) {
        if (!isRelative(name)) {
            hasUnseen = true; // has no place in the tree that the compiler gets
            return List.of();
        }
        Stream<Root> searched = Stream.concat(Stream.of(includer), roots.stream());
        return searched.map(root -> root.file(name)).filter(found -> Files.isRegularFile(found.file())).toList();
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
                for (Path file : (Iterable<Path>) all.filter(Files::isRegularFile).sorted()::iterator) {
                    if (++files > MAX_FILES) {
                        throw new IOException("there are more than " + MAX_FILES + " files in the include directories; name smaller ones");
                    }
                    Found found = root.file(root.directory().relativize(file).toString());
                    if (!headers.containsKey(found.place().toString())) {
                        headers.put(found.place().toString(), text(file));
                        headerFiles.put(found.place().toString(), file);
                    }
                }
            } catch (UncheckedIOException e) {
                throw new IOException("the include directory " + root.directory() + " cannot be read: " + e.getCause(), e);
            }
        }
    }

    private String text(Path file) throws IOException {
        try {
            BasicFileAttributes kind = Files.readAttributes(file, BasicFileAttributes.class);
            if (kind.isDirectory()) {
                throw new IOException(file + " is a directory: name a file in it");
            }
            if (!kind.isRegularFile()) { // opening a pipe waits for whoever writes it
                throw new IOException(file + " is a pipe, a device or a socket: name a file");
            }
            try (InputStream in = Files.newInputStream(file)) {
                byte[] content = in.readNBytes((int) (MAX_BYTES - bytes) + 1); // memory grows with what comes, not with a length that is told
                bytes += content.length;
                if (bytes > MAX_BYTES) {
                    throw new IOException("there are more than " + (MAX_BYTES >> 20) + " MiB of sources and headers; name smaller directories");
                }
                return new String(content, UTF_8);
            }
        } catch (NoSuchFileException e) {
            throw new IOException("there is no file " + file + ": correct source in the manifest", e);
        } catch (FileSystemException e) {
            throw new IOException(file + " cannot be read: " + e, e);
        } catch (OutOfMemoryError e) {
            throw new IOException(file + " needs more memory than this process has left", e); // one kernel fails, the others may be short
        }
    }

    private static Path parentOf(Path file) {
        Path parent = file.toAbsolutePath().getParent();
        return parent == null ? file.toAbsolutePath() : parent;
    }
}
