package dev.granary.cli.compiler;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Target;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.RecordedInputs;
import dev.granary.cli.source.KernelSourceResolver;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.recording.RecordingFile;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * The files of one request to a compiler process and of its response: a recorded kernel, binaries
 * as an entry, and the text of a failure. The kernel is recorded with its texts, so that the
 * process compiles what the id was computed of, even if a source changes meanwhile.
 *
 * @param directory the directory of the process
 */
record CompilerFiles(Path directory) {
    private static final int CHUNK = 1 << 20;
    private static final String KERNEL = "kernel.toml";
    private static final String STORED = "stored.entry";
    private static final String RESPONSE = "response.entry";
    private static final String FAILURE = "failure.txt";

    /** A request to a compiler process, in one line; its kernel and binaries are files. */
    enum Request {
        /** Compiles the kernel, from the binary if there is one, which is its SPIR-V. */
        COMPILE,
        /** Compiles the kernel to SPIR-V. */
        COMPILE_INTERMEDIATE,
        /** Restores the kernel from the binaries. */
        RESTORE
    }

    /** The outcome of a request. */
    enum Outcome {
        /** The device is open, and the entry has its target; sent once, before any request. */
        OPENED,
        // as in dev.granary.cache.Primitive.Origin
        COMPILED,
        RESTORED,
        RECOMPILED,
        /** The source does not compile. */
        COMPILE_FAILED,
        /** The driver refuses the binaries. */
        RESTORE_REFUSED,
        /** The binaries lack a kernel. */
        MISSING_KERNEL,
        /** The arguments select no device, or several. */
        MISUSED,
        /** Another failure. */
        FAILED;

        boolean hasEntry() {
            return compareTo(RECOMPILED) <= 0;
        }
    }

    /**
     * Writes the kernel and the binaries of a request.
     *
     * @param stored the binaries; none if the request has none
     */
    void writeRequest(KernelDescriptor descriptor, KernelBinaries stored) throws IOException {
        Path kernel = directory.resolve(KERNEL);
        Files.deleteIfExists(kernel);
        new RecordingFile(kernel).add(List.of(descriptor), List.of());
        if (descriptor.getId().isEmpty()) { // only the sender decides that
            Files.writeString(
                    kernel, "extra-digest = \"of the sender\"\n", StandardOpenOption.APPEND);
        }
        Files.deleteIfExists(directory.resolve(STORED));
        if (!stored.isEmpty()) {
            write(STORED, entry(descriptor.target(), stored, Duration.ZERO, List.of(), List.of()));
        }
    }

    /** Returns the kernel of the request. */
    KernelDescriptor kernel(Target target) throws IOException {
        try {
            KernelSpec kernel = KernelManifest.read(directory.resolve(KERNEL)).getFirst();
            List<RecordedId> ids = kernel.recorded().map(RecordedInputs::ids).orElseThrow();
            return ids.isEmpty()
                    ? KernelSourceResolver.descriptor(kernel, target)
                    : KernelSourceResolver.descriptor(kernel, ids.getFirst());
        } catch (TomlException e) {
            throw new IOException(e);
        }
    }

    /** Returns the binaries of the request; none if it has none. */
    KernelBinaries stored() throws IOException {
        return Files.exists(directory.resolve(STORED))
                ? read(STORED).binaries()
                : KernelBinaries.none();
    }

    void writeResponse(Entry entry) throws IOException {
        write(RESPONSE, entry);
    }

    Entry response() throws IOException {
        return read(RESPONSE);
    }

    void writeFailure(String text) throws IOException {
        Files.writeString(directory.resolve(FAILURE), text);
    }

    String failure() throws IOException {
        return new String(Files.readAllBytes(directory.resolve(FAILURE)), UTF_8);
    }

    /** Returns an entry that contains a program on its way; its id is of no use. */
    static Entry entry(
            Target target,
            KernelBinaries binaries,
            Duration compileTime,
            List<String> kernels,
            List<String> geometries) {
        return Entry.of(
                Id.builder(target).field("kind", "response").build(),
                binaries,
                compileTime,
                new EntryMetadata("", "", Instant.EPOCH, kernels, geometries, ""));
    }

    private void write(String name, Entry entry) throws IOException {
        try (OutputStream out = Files.newOutputStream(directory.resolve(name))) {
            for (MemorySegment part : EntryFormat.encodeParts(
                    entry, EntryFormat.Compression.NONE, EntryFormat.WriteAttemptId.NONE)) {
                for (long start = 0; start < part.byteSize(); start += CHUNK) {
                    long length = Math.min(CHUNK, part.byteSize() - start);
                    out.write(part.asSlice(start, length).toArray(ValueLayout.JAVA_BYTE));
                }
            }
        }
    }

    private Entry read(String name) throws IOException {
        MemorySegment bytes = MemorySegment.ofArray(Files.readAllBytes(directory.resolve(name)));
        if (EntryFormat.decode(bytes, EntryFormat.VerificationLevel.CHECKSUMS)
                instanceof LoadResult.Hit hit) {
            return hit.entry();
        }
        throw new IOException(name + " is damaged");
    }
}
