package dev.granary.cli.source;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.RecordedInputs;
import dev.granary.coordinator.recording.RecordedId;
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
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Resolver that turns a kernel of a manifest into a descriptor: it reads the sources and all files
 * that they include, directly or transitively.
 *
 * <p>An included file is searched beside the including file and in all include directories. Every
 * match becomes a header: the compiler chooses in its own order, but only among hashed files. A
 * name without a match is left to the compiler: it may be in an untaken branch, or belong to the
 * driver. If a macro expands to the name, all files of the include directories and of the source's
 * directory become headers. The directories of further sources are include directories.
 */
public final class KernelSourceResolver {
    private static final String DEEP = "/d/d/d/d";
    private static final Target NO_DEVICE = new Target(Backend.OPENCL, "granary", "none", "none");
    private static final int MAX_FILES = 10_000;
    private static final long MAX_BYTES = 64L << 20;

    private final KernelSpec kernel;
    private final List<Root> roots = new ArrayList<>();
    private final Map<String, String> headers = new LinkedHashMap<>();
    private final Map<String, Path> headerFiles = new LinkedHashMap<>();
    private final NavigableMap<Integer, Path> sourcesByLine = new TreeMap<>();
    private long bytes;
    private boolean hasComputedInclude;
    private boolean hasUnseen;
    private boolean hasSpirv;

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
        Path sourceDirectory = parentOf(kernel.sources().getFirst());
        roots.add(new Root(sourceDirectory, Path.of("")));
        kernel.sources().stream()
                .map(KernelSourceResolver::parentOf)
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
        Path sourceDirectory = roots.getFirst().directory();
        roots.add(new Root(
                directory,
                directory.startsWith(sourceDirectory)
                        ? sourceDirectory.relativize(directory)
                        : Path.of("include-" + roots.size() + DEEP))); // deep enough for "../"
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

    /**
     * Returns a descriptor of {@code kernel} for no device, to read its inputs. Its id is no one's.
     *
     * @throws IOException as {@link #descriptor}
     */
    public static KernelDescriptor withoutDevice(KernelSpec kernel) throws IOException {
        return descriptor(kernel, NO_DEVICE);
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
        return new Resolved(
                descriptor, new KernelSources(resolver.sourcesByLine, resolver.headerFiles));
    }

    /**
     * Returns the descriptor of a recorded kernel for the target and the environment of its
     * recording. If its files are those of the recording, it has the recorded id.
     *
     * @throws IOException as {@link #descriptor}
     */
    public static KernelDescriptor descriptor(
            KernelSpec kernel, RecordedInputs inputs, RecordedId id) throws IOException {
        return built(new KernelSourceResolver(kernel)
                .builder(inputs, id.target())
                .environment(id.environment()));
    }

    private KernelDescriptor resolve(Target target) throws IOException {
        if (kernel.recorded().isPresent()) {
            RecordedInputs inputs = kernel.recorded().get();
            KernelDescriptor descriptor = built(builder(inputs, target));
            checkEnvironment(inputs, descriptor);
            return descriptor;
        }
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(target, kernel.name()).options(kernel.options());
        List<String> texts = addSources(builder);
        for (int i = 0; i < texts.size(); i++) {
            if (texts.get(i).isBlank()) {
                throw new IOException(
                        kernel.sources().get(i) + " is empty: correct source in the manifest");
            }
        }
        collect(texts);
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
        kernel.launches().forEach(launch -> builder.launch(launch.kernel(), launch.geometry()));
        return built(builder.tag(kernel.tag()).extraDigest(kernel.extraDigest()));
    }

    /** Builds a descriptor; inputs that do not go together are an error of the manifest. */
    private static KernelDescriptor built(KernelDescriptor.Builder builder) throws IOException {
        try {
            return builder.build();
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    /** Returns the builder of a recorded kernel. */
    private KernelDescriptor.Builder builder(RecordedInputs inputs, Target target)
            throws IOException {
        KernelDescriptor.Builder builder =
                KernelDescriptor.builder(target, kernel.name()).options(kernel.options());
        if (addSources(builder).stream().allMatch(String::isBlank) && !hasSpirv) {
            throw new IOException(
                    kernel.sources().getFirst() + " is empty: correct source in the manifest");
        }
        for (Map.Entry<String, Path> header : inputs.headers().entrySet()) {
            builder.header(header.getKey(), text(header.getValue()));
            headerFiles.put(normalized(header.getKey()), header.getValue());
        }
        inputs.includeDirectories().forEach(builder::includeDirectory);
        if (inputs.isEveryFileListed()) {
            builder.everyFileListed();
        }
        kernel.entries().forEach(builder::entry);
        kernel.launches().forEach(launch -> builder.launch(launch.kernel(), launch.geometry()));
        return builder.tag(kernel.tag()).extraDigest(kernel.extraDigest());
    }

    /** Returns the path as build logs are searched for it. */
    private static String normalized(String path) {
        try {
            return Path.of(path).normalize().toString();
        } catch (InvalidPathException e) {
            return path;
        }
    }

    /**
     * Checks that this process has the environment of the recording. Another environment has other
     * ids: programs would not find the entries.
     */
    private static void checkEnvironment(RecordedInputs inputs, KernelDescriptor descriptor)
            throws IOException {
        List<RecordedId> ids = inputs.ids().stream()
                .filter(id -> id.target().equals(descriptor.target()))
                .toList();
        if (!ids.isEmpty()
                && ids.stream()
                        .noneMatch(id -> id.environment().equals(descriptor.compilerVariables()))) {
            throw new IOException("it was recorded with the environment variables "
                    + ids.getFirst().environment() + ", but this process has "
                    + descriptor.compilerVariables() + ": set them as they were");
        }
    }

    /** Adds the sources, and returns their texts. SPIR-V is recognized by its first bytes. */
    private List<String> addSources(KernelDescriptor.Builder builder) throws IOException {
        List<String> texts = new ArrayList<>();
        int line = 1;
        for (Path source : kernel.sources()) {
            byte[] content = content(source);
            if (SpirvFile.isSpirv(content)) {
                SpirvFile.add(source, content, builder, hasSpirv);
                hasSpirv = true;
                sourcesByLine.put(line, source);
                continue;
            }
            String text = new String(content, UTF_8);
            builder.source(text);
            texts.add(text);
            // the compiler counts the lines of all texts together; a line that two of them share
            // has the rest of the later one below it
            sourcesByLine.put(line, source);
            line += lineEndings(text);
        }
        if (hasSpirv && !texts.isEmpty()) {
            throw new IOException("SPIR-V and OpenCL C are no one program: name either in source");
        }
        return texts;
    }

    private static int lineEndings(String text) {
        boolean hasOpenLine = !text.isEmpty() && !text.endsWith("\n") && !text.endsWith("\r");
        return (int) text.lines().count() - (hasOpenLine ? 1 : 0);
    }

    /** Collects the files that the sources include, transitively. */
    private void collect(List<String> texts) throws IOException {
        record PendingFile(Root directory, String text) {}
        Deque<PendingFile> toScan = new ArrayDeque<>();
        texts.forEach(text -> toScan.add(new PendingFile(roots.getFirst(), text)));
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
        return new String(content(file), UTF_8);
    }

    private byte[] content(Path file) throws IOException {
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
                return content;
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
