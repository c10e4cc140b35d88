package dev.granary.coordinator.recording;

import dev.granary.coordinator.toml.TomlText;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A kernel of a recording: the inputs of a descriptor as lines of TOML.
 *
 * @param descriptor the descriptor
 */
record RecordedKernel(KernelDescriptor descriptor) {
    /** The largest size of the sources and headers of one kernel that a manifest can name. */
    static final long MAX_BYTES = 64L << 20;

    /** Returns the id for its target, in one line; empty if it is not cacheable. */
    Optional<String> id() {
        return descriptor.getId().isEmpty()
                ? Optional.empty()
                : Optional.of(RecordedId.of(descriptor).toToml());
    }

    /** Returns the name for results; a manifest needs one that is not blank. */
    String name() {
        return descriptor.name().isBlank() ? "kernel" : descriptor.name();
    }

    /**
     * Returns the lines that decide what is compiled: equal lines mean equal ids.
     *
     * @throws IOException if a source or header cannot be written
     */
    List<String> inputs(SourceDirectory files) throws IOException {
        List<String> lines = new ArrayList<>();
        List<String> sources = new ArrayList<>();
        for (String source : descriptor.sources()) {
            sources.add(files.store(source, ".cl"));
        }
        if (descriptor.spirv().isPresent()) {
            sources.add(
                    files.store(descriptor.spirv().get().toArray(ValueLayout.JAVA_BYTE), ".spv"));
        }
        lines.add("source = " + TomlText.strings(sources));
        List<String> headers = new ArrayList<>();
        for (Map.Entry<String, String> header : descriptor.headers().entrySet()) {
            headers.add("{ path = " + TomlText.string(header.getKey()) + ", file = "
                    + TomlText.string(files.store(header.getValue(), ".h")) + " }");
        }
        lines.addAll(list("header", headers));
        if (!descriptor.includeDirectories().isEmpty()) {
            lines.add("include-directory = " + TomlText.strings(descriptor.includeDirectories()));
        }
        if (descriptor.isEveryFileListed()) {
            lines.add("every-file-listed = true");
        }
        if (!descriptor.optionTokens().isEmpty()) {
            lines.add(
                    "options = " + TomlText.string(BuildOptions.format(descriptor.optionTokens())));
        }
        lines.addAll(list(
                "launch",
                descriptor.announcedLaunches().stream()
                        .map(RecordedKernel::toToml)
                        .toList()));
        if (!descriptor.tag().isEmpty()) {
            lines.add("tag = " + TomlText.string(descriptor.tag()));
        }
        if (!descriptor.extraDigest().isEmpty()) {
            lines.add("extra-digest = " + TomlText.string(descriptor.extraDigest()));
        }
        return lines;
    }

    private static String toToml(Launch launch) {
        return "{ kernel = " + TomlText.string(launch.kernel())
                + ", global = " + launch.geometry().global()
                + (launch.geometry().local().isEmpty()
                        ? ""
                        : ", local = " + launch.geometry().local())
                + " }";
    }

    /** Returns a key with a list, one line for each item; no line for an empty list. */
    private static List<String> list(String key, List<String> items) {
        if (items.isEmpty()) {
            return List.of();
        }
        List<String> lines = new ArrayList<>(List.of(key + " = ["));
        items.forEach(item -> lines.add("    " + item + ","));
        lines.add("]");
        return lines;
    }

    /** Returns the line of the entry points; none if all kernels of the program are meant. */
    List<String> entries() {
        return descriptor.entries().isEmpty()
                ? List.of()
                : List.of("entry = " + TomlText.strings(List.copyOf(descriptor.entries())));
    }
}
