package dev.granary.cli.kernel;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Target;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.coordinator.recording.RecordingFile;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;

/**
 * The files of a request to a compiler process and of its response: a recorded kernel, and binaries
 * as an entry. The kernel is recorded with its texts, so that the process compiles what the id was
 * computed of, even if a source changes meanwhile.
 */
record CompilerFiles(Path directory) {
    /** A request to a compiler process, in one line. */
    enum Request {
        /** Compiles the kernel, from the binary if there is one, which is its SPIR-V. */
        COMPILE,
        /** Restores the kernel from the binaries. */
        RESTORE
    }

    /** The outcome of a request. */
    enum Outcome {
        /** The device is open; sent once, before any request, with the target. */
        OPENED,
        // as in dev.granary.cache.Primitive.Origin; the binaries are a file
        COMPILED,
        RESTORED,
        RECOMPILED,
        /** The source does not compile; the text has the reason in a line, then the log. */
        COMPILE_FAILED,
        /** The binaries lack a kernel. */
        MISSING_KERNEL,
        /** The arguments select no device, or several. */
        MISUSED,
        /** Another failure, such as binaries that the driver refuses. */
        FAILED
    }

    /**
     * A response of a compiler process.
     *
     * @param text the message of a failure, or the parts of the target in lines
     */
    record Response(Outcome outcome, String text) {
        static Response parse(String line) {
            String[] parts = line.split(" ", 2);
            return new Response(
                    Outcome.valueOf(parts[0]),
                    new String(Base64.getDecoder().decode(parts[1]), UTF_8));
        }

        @Override
        public String toString() {
            return outcome + " " + Base64.getEncoder().encodeToString(text.getBytes(UTF_8));
        }
    }

    private Path kernelFile() {
        return directory.resolve("kernel.toml");
    }

    private Path binariesFile() {
        return directory.resolve("binaries.entry");
    }

    /** Writes the kernel and the binaries of a request. */
    void writeRequest(KernelDescriptor descriptor, KernelBinaries stored) throws IOException {
        Files.deleteIfExists(kernelFile());
        new RecordingFile(kernelFile()).add(List.of(descriptor), List.of());
        if (descriptor.getId().isEmpty()) { // only the sender decides that
            Files.writeString(
                    kernelFile(), "extra-digest = \"of the sender\"\n", StandardOpenOption.APPEND);
        }
        Files.deleteIfExists(binariesFile());
        if (!stored.isEmpty()) {
            write(descriptor.target(), stored, Duration.ZERO, List.of(), List.of());
        }
    }

    KernelDescriptor kernel(Target target) throws IOException {
        try {
            KernelSpec kernel = KernelManifest.read(kernelFile()).getFirst();
            return kernel.recordedIds().isEmpty()
                    ? KernelSourceResolver.descriptor(kernel, target)
                    : KernelSourceResolver.descriptor(
                            kernel, kernel.recordedIds().getFirst());
        } catch (TomlException e) {
            throw new IOException(e);
        }
    }

    /** Returns the binaries of the request; none if it has none. */
    KernelBinaries stored() throws IOException {
        return Files.exists(binariesFile()) ? read().binaries() : KernelBinaries.none();
    }

    /** Writes a program as an entry, whose id is of no use. */
    void write(
            Target target,
            KernelBinaries binaries,
            Duration compileTime,
            List<String> kernels,
            List<String> geometries)
            throws IOException {
        Entry entry = Entry.of(
                Id.builder(target).field("kind", "response").build(),
                binaries,
                compileTime,
                new EntryMetadata("", "", Instant.EPOCH, kernels, geometries, ""));
        Files.write(binariesFile(), EntryFormat.encode(entry, EntryFormat.Compression.NONE));
    }

    Entry read() throws IOException {
        MemorySegment bytes = MemorySegment.ofArray(Files.readAllBytes(binariesFile()));
        if (EntryFormat.decode(bytes, EntryFormat.VerificationLevel.CHECKSUMS)
                instanceof LoadResult.Hit hit) {
            return hit.entry();
        }
        throw new IOException(binariesFile() + " is damaged");
    }
}
