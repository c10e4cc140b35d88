package dev.granary.cli.manifest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelSpec.RecordedInputs;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SpirVReader;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Resolver that turns a kernel of a manifest into a descriptor: it reads the sources, and an
 * {@link IncludeCollector} all files that they include, directly or transitively. A source is a
 * module of SPIR-V if its content begins like one.
 */
public final class KernelSourceResolver {
    private final KernelSpec kernel;
    private final KernelDescriptor.Builder builder;
    private final SourceFileReader files = new SourceFileReader();
    private final IncludeCollector includes;
    private final List<String> texts = new ArrayList<>();
    private final Map<String, Path> headerFiles = new LinkedHashMap<>();
    private final NavigableMap<Integer, Path> sourcesByLine = new TreeMap<>();
    private boolean hasSpirv;

    private KernelSourceResolver(KernelSpec kernel, Target target) throws IOException {
        this.kernel = kernel;
        this.builder = KernelDescriptor.builder(target, kernel.name()).options(kernel.options());
        this.includes = new IncludeCollector(kernel, files, builder);
    }

    /** Returns the descriptor; the message of an {@code IOException} is for the user. */
    public static KernelDescriptor descriptor(KernelSpec kernel, Target target) throws IOException {
        return resolve(kernel, target).descriptor();
    }

    /** A descriptor, and the files that it was created from. */
    public record Resolved(KernelDescriptor descriptor, KernelSources sources) {}

    /**
     * Returns the descriptor like {@link #descriptor}, with its files: build logs show them in
     * place of the compiler's copies.
     */
    public static Resolved resolve(KernelSpec kernel, Target target) throws IOException {
        KernelSourceResolver resolver = new KernelSourceResolver(kernel, target);
        KernelDescriptor descriptor = resolver.resolve();
        return new Resolved(
                descriptor, new KernelSources(resolver.sourcesByLine, resolver.headerFiles));
    }

    /**
     * Returns the descriptor of a recorded kernel for the target and the environment of its
     * recording. If its files are those of the recording, it has the recorded id.
     */
    public static KernelDescriptor descriptor(KernelSpec kernel, RecordedId id) throws IOException {
        KernelSourceResolver resolver = new KernelSourceResolver(kernel, id.target());
        resolver.builder.environment(id.environment());
        return resolver.resolve();
    }

    private KernelDescriptor resolve() throws IOException {
        addSources();
        if (kernel.recorded().isPresent()) {
            addListed(kernel.recorded().get());
        } else {
            headerFiles.putAll(includes.collect(texts));
        }
        kernel.entries().forEach(builder::entry);
        kernel.launches().forEach(launch -> builder.launch(launch.kernel(), launch.geometry()));
        KernelDescriptor descriptor;
        try {
            descriptor =
                    builder.tag(kernel.tag()).extraDigest(kernel.extraDigest()).build();
        } catch (IllegalArgumentException e) { // inputs that do not go together
            throw new IOException(e.getMessage(), e);
        }
        checkEnvironment(descriptor);
        return descriptor;
    }

    private void addSources() throws IOException {
        int line = 1;
        for (Path source : kernel.sources()) {
            byte[] content = files.content(source);
            // The compiler counts the lines of all texts together. A text without a final line end
            // shares its last line with the next text, to which that line is then attributed.
            sourcesByLine.put(line, source);
            if (SpirVReader.isSpirV(MemorySegment.ofArray(content))) {
                addSpirv(source, content);
            } else {
                String text = new String(content, UTF_8);
                builder.source(text);
                texts.add(text);
                line += lineEndings(text);
            }
        }
        if (hasSpirv && !texts.isEmpty()) {
            throw new IOException("SPIR-V and OpenCL C are no one program: name either in source");
        }
        for (int i = 0; i < texts.size(); i++) {
            // one of several texts in code may be blank
            if (kernel.recorded().isPresent()
                    ? texts.stream().allMatch(String::isBlank)
                    : texts.get(i).isBlank()) {
                throw new IOException(
                        kernel.sources().get(i) + " is empty: correct source in the manifest");
            }
        }
    }

    private void addSpirv(Path file, byte[] module) throws IOException {
        if (hasSpirv) {
            throw new IOException(
                    file + " is a second module of SPIR-V: a kernel has one source of SPIR-V");
        }
        try {
            builder.spirv(module);
        } catch (IllegalArgumentException e) {
            throw new IOException(file + ": " + e.getMessage(), e);
        }
        hasSpirv = true;
    }

    private static int lineEndings(String text) {
        boolean hasOpenLine = !text.isEmpty() && !text.endsWith("\n") && !text.endsWith("\r");
        return (int) text.lines().count() - (hasOpenLine ? 1 : 0);
    }

    private void addListed(RecordedInputs inputs) throws IOException {
        for (Map.Entry<String, Path> header : inputs.headers().entrySet()) {
            builder.header(header.getKey(), files.text(header.getValue()));
            // in the form in which the sources of a build log look it up
            headerFiles.put(Path.of(header.getKey()).normalize().toString(), header.getValue());
        }
        inputs.includeDirectories().forEach(builder::includeDirectory);
        if (inputs.isEveryFileListed()) {
            builder.everyFileListed();
        }
    }

    /** Checks the environment of a recording: with another one programs have other ids. */
    private void checkEnvironment(KernelDescriptor descriptor) throws IOException {
        List<RecordedId> ids = kernel.recordedIds().stream()
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

    /** Reader of the files of one kernel, which have at most 64 MiB together. Not thread-safe. */
    static final class SourceFileReader {
        private static final long MAX_BYTES = 64L << 20;

        private long bytes;

        /** Returns the text of a header. */
        String text(Path header) throws IOException {
            return new String(content(header, ": restore this header"), UTF_8);
        }

        /** Returns the content; the message of an {@code IOException} is for the user. */
        byte[] content(Path source) throws IOException {
            return content(source, ": correct source in the manifest");
        }

        private byte[] content(Path file, String cureIfMissing) throws IOException {
            BasicFileAttributes kind;
            byte[] content = {};
            try {
                kind = Files.readAttributes(file, BasicFileAttributes.class);
                if (kind.isRegularFile()) { // opening a pipe blocks until a writer opens it
                    try (InputStream in = Files.newInputStream(file)) {
                        // memory is allocated for bytes that were read, not for a declared length
                        content = in.readNBytes((int) (MAX_BYTES - bytes) + 1);
                    }
                }
            } catch (NoSuchFileException e) {
                throw new IOException("there is no file " + file + cureIfMissing, e);
            } catch (IOException e) {
                throw new IOException(file + " cannot be read: " + e, e);
            } catch (OutOfMemoryError e) { // other kernels may fit
                throw new IOException(file + " needs more memory than this process has left", e);
            }
            if (!kind.isRegularFile()) {
                throw new IOException(file
                        + (kind.isDirectory()
                                ? " is a directory: name a file in it"
                                : " is a pipe, a device or a socket: name a file"));
            }
            bytes += content.length;
            if (bytes > MAX_BYTES) {
                throw new IOException("there are more than " + (MAX_BYTES >> 20)
                        + " MiB of sources and headers; name smaller directories");
            }
            return content;
        }
    }
}
