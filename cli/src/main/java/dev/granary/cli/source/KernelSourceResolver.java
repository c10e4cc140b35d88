package dev.granary.cli.source;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.RecordedInputs;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Resolver that turns a kernel of a manifest into a descriptor: it reads the sources, and an
 * {@link IncludeCollector} all files that they include, directly or transitively.
 */
public final class KernelSourceResolver {
    private static final Target NO_DEVICE = new Target(Backend.OPENCL, "granary", "none", "none");

    private final KernelSpec kernel;
    private final SourceFileReader files = new SourceFileReader();
    private final IncludeCollector includes;
    private final Map<String, Path> headerFiles = new LinkedHashMap<>();
    private final NavigableMap<Integer, Path> sourcesByLine = new TreeMap<>();
    private boolean hasSpirv;

    private KernelSourceResolver(KernelSpec kernel) throws IOException {
        this.kernel = kernel;
        this.includes = new IncludeCollector(kernel, files);
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
     * Returns a descriptor of {@code kernel} for no device, to read its inputs; no entry has its
     * id.
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
        includes.collect(texts);
        includes.addTo(builder);
        headerFiles.putAll(includes.files());
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
            builder.header(header.getKey(), files.text(header.getValue()));
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

    /** Returns the path in the form in which {@link KernelSources#header} looks it up. */
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
            byte[] content = files.content(source);
            if (SpirvFile.isSpirv(content)) {
                SpirvFile.add(source, content, builder, hasSpirv);
                hasSpirv = true;
                sourcesByLine.put(line, source);
                continue;
            }
            String text = new String(content, UTF_8);
            builder.source(text);
            texts.add(text);
            // The compiler counts the lines of all texts together. A text without a final line end
            // shares its last line with the next text, to which that line is then attributed.
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
}
