package dev.granary.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cache.Sha256;

import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/** The key of a kernel descriptor: its fields as an id, and as a text for people. */
final class KernelKey {
    private static final int MAX_READABLE_HEADERS = 4;

    /** Represents {@link KernelDescriptor.Builder#everyFileListed} in keys; must never change. */
    private static final String EVERY_FILE = "every file of the include directories is a header";

    private KernelKey() {}

    /** Returns the id; an empty one with the reason if an input cannot be covered. */
    static Id id(KernelDescriptor kernel) {
        Optional<String> untracked = kernel.extraDigest().isEmpty()
                ? kernel.inputs().environment().untracked().or(() -> untrackedInputs(kernel))
                : Optional.empty();
        if (untracked.isPresent()) {
            return Id.notCacheable(untracked.get());
        }
        Optional<SpirvModule> spirv = kernel.inputs().spirv();
        Id.Builder key = Id.builder(kernel.target())
                .field("kind", spirv.isPresent() ? "kernel-spirv" : "kernel-source");
        kernel.sources().forEach(text -> key.field("source", text));
        // Modules and headers by digest: they may be megabytes, and every entry stores the key.
        spirv.ifPresent(module -> key.field("spirv", module.digest().hex()));
        kernel.headers().forEach((path, text) -> key.field("header", path)
                .field("sha256", Sha256.of(text.getBytes(UTF_8)).bytes()));
        kernel.includeDirectories().forEach(directory -> key.field("include-directory", directory));
        kernel.optionTokens().forEach(option -> key.field("option", option));
        kernel.launches().forEach(launch -> key.field("launch", launch.toString()));
        String digest = kernel.extraDigest();
        if (!digest.isEmpty() || kernel.isEveryFileListed()) {
            key.field("extra-digest", digest.isEmpty() ? EVERY_FILE : digest);
        }
        if (!kernel.tag().isEmpty()) {
            key.field("tag", kernel.tag());
        }
        kernel.compilerVariables()
                .forEach((name, value) -> key.field("environment", name).field("value", value));
        return key.build();
    }

    private static Optional<String> untrackedInputs(KernelDescriptor kernel) {
        return new UntrackedInputs(Path.of(""))
                .reason(
                        kernel.sources(),
                        kernel.headers(),
                        kernel.optionTokens(),
                        kernel.isEveryFileListed());
    }

    /** Returns the fields in one line; sources by their size. */
    static String readable(KernelDescriptor kernel) {
        int characters = kernel.sources().stream().mapToInt(String::length).sum();
        StringBuilder text = new StringBuilder(kernel.name())
                .append(", ")
                .append(kernel.spirv()
                        .map(module -> module.byteSize() + " bytes of SPIR-V")
                        .orElse(characters + " characters of source"));
        append(text, "headers", readableHeaders(kernel.headers().keySet()));
        append(text, "options", BuildOptions.format(kernel.optionTokens()));
        append(text, "entries", String.join(" ", kernel.entries()));
        append(
                text,
                "launches",
                String.join(
                        " ", kernel.launches().stream().map(Launch::toString).toList()));
        append(text, "tag", kernel.tag());
        append(
                text,
                "environment",
                kernel.compilerVariables().isEmpty()
                        ? ""
                        : kernel.compilerVariables().toString());
        return text.toString();
    }

    private static void append(StringBuilder text, String name, String value) {
        if (!value.isEmpty()) {
            text.append(", ").append(name).append(' ').append(value);
        }
    }

    private static String readableHeaders(Set<String> headers) {
        String first =
                String.join(" ", headers.stream().limit(MAX_READABLE_HEADERS).toList());
        return headers.size() <= MAX_READABLE_HEADERS
                ? first
                : first + " and " + (headers.size() - MAX_READABLE_HEADERS) + " more";
    }
}
