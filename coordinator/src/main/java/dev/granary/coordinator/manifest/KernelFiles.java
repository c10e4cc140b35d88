package dev.granary.coordinator.manifest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Target;
import dev.granary.gpu.IncludeDirectives;
import dev.granary.gpu.KernelDescriptor;
import java.io.IOException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Turns a manifest's kernel into a descriptor: reads the source and every file that it includes, directly or through others.
 *
 * <p>An included file is looked for beside the including one, then in the include directories, as a C preprocessor does. A name that is found nowhere is
 * left to the compiler: it may stand in a branch that is never taken, or be the driver's own. Where a macro makes the name, every file of
 * the include directories and of the source's directory is taken along: what the compiler can find is what was hashed.
 */
public final class KernelFiles {
    private static final String DEEP = "/d/d/d/d";
    private static final int MAX_FILES = 10_000;
    private static final long MAX_BYTES = 64L << 20;

    private final ManifestKernel kernel;
    private final List<Root> roots = new ArrayList<>();
    private final Map<String, String> headers = new LinkedHashMap<>();
    private long bytes;

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

    private KernelFiles(ManifestKernel kernel) throws IOException {
        this.kernel = kernel;
        Path sourceDirectory = parentOf(kernel.source());
        roots.add(new Root(sourceDirectory, Path.of("")));
        for (Path directory : kernel.includeDirectories()) {
            if (!Files.isDirectory(directory)) {
                throw new NoSuchFileException("the include directory " + directory + " does not exist");
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
     * @throws IOException if a file cannot be read, with its name
     */
    public static KernelDescriptor descriptor(ManifestKernel kernel, Target target) throws IOException {
        return new KernelFiles(kernel).read(target);
    }

    private KernelDescriptor read(Target target) throws IOException {
        String source = text(kernel.source());
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(target, kernel.name()).source(source).options(kernel.options());
        if (collect(source)) {
            collectAll();
            builder.extraDigest("every file of the include directories is a header");
        }
        headers.forEach(builder::header);
        roots.stream().skip(1).forEach(root -> builder.includeDirectory(root.place().toString()));
        kernel.entries().forEach(builder::entry);
        kernel.geometry().ifPresent(builder::launch);
        return builder.build();
    }

    /** Collects what is included from {@code source} on; true where some name is made by a macro. */
    private boolean collect(String source) throws IOException {
        record Open(Root directory, String text) {}
        Deque<Open> toScan = new ArrayDeque<>(List.of(new Open(roots.getFirst(), source)));
        boolean hasComputed = false;
        while (!toScan.isEmpty()) {
            Open open = toScan.remove();
            IncludeDirectives directives = IncludeDirectives.of(open.text());
            hasComputed |= directives.hasComputed();
            for (String name : directives.names()) {
                Found found = find(open.directory(), name);
                if (found != null && !headers.containsKey(found.place().toString())) {
                    String text = text(found.file());
                    headers.put(found.place().toString(), text);
                    toScan.add(new Open(found.directory(), text));
                }
            }
        }
        return hasComputed;
    }

    private @Nullable Found find(Root includer, String name) {
        List<Root> searched = new ArrayList<>(List.of(includer));
        searched.addAll(roots);
        for (Root root : searched) {
            Found found = root.file(name);
            if (Files.isRegularFile(found.file())) {
                return found;
            }
        }
        return null;
    }

    private void collectAll() throws IOException {
        int files = 0;
        for (Root root : roots) {
            try (Stream<Path> all = Files.walk(root.directory(), FileVisitOption.FOLLOW_LINKS)) {
                for (Path file : (Iterable<Path>) all.filter(Files::isRegularFile).sorted()::iterator) {
                    if (++files > MAX_FILES) {
                        throw new IOException("more than " + MAX_FILES + " files in the include directories; name smaller ones");
                    }
                    Found found = root.file(root.directory().relativize(file).toString());
                    headers.putIfAbsent(found.place().toString(), text(file));
                }
            }
        }
    }

    private String text(Path file) throws IOException {
        bytes += Files.size(file);
        if (bytes > MAX_BYTES) {
            throw new IOException("more than " + (MAX_BYTES >> 20) + " MiB of sources and headers");
        }
        return new String(Files.readAllBytes(file), UTF_8);
    }

    private static Path parentOf(Path file) {
        Path parent = file.toAbsolutePath().getParent();
        return parent == null ? file.toAbsolutePath() : parent;
    }
}
