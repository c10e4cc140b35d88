package dev.granary.cli.source;

import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.BinaryContainer;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** A source file of a manifest that is a module of SPIR-V, whichever name it has. */
final class SpirvFile {
    private SpirvFile() {}

    /** Returns true if the content begins like a module of SPIR-V. */
    static boolean isSpirv(byte[] content) {
        return switch (BinaryContainer.read(MemorySegment.ofArray(content))) {
            case BinaryContainer.SpirV _ -> true;
            case BinaryContainer.Malformed malformed ->
                malformed.format() == BinaryContainer.Format.SPIR_V;
            default -> false;
        };
    }

    /**
     * Makes a module the program of a kernel.
     *
     * @param isFurther true if the kernel has a module already
     * @throws IOException if it has a module already, or if {@code module} is not sound; with a
     *     message for the user
     */
    static void add(Path file, byte[] module, KernelDescriptor.Builder builder, boolean isFurther)
            throws IOException {
        if (isFurther) {
            throw new IOException(
                    file + " is a second module of SPIR-V: a kernel has one source of" + " SPIR-V");
        }
        try {
            builder.spirv(module);
        } catch (IllegalArgumentException e) {
            throw new IOException(file + ": " + e.getMessage(), e);
        }
    }
}
