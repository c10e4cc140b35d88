package dev.granary.gpu;

import dev.granary.cache.Sha256;
import dev.granary.gpu.binary.DeviceKernels;
import dev.granary.gpu.binary.SpirVReader;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.TreeSet;

/**
 * The module of SPIR-V of a descriptor, read to its end before it is accepted. Immutable; compared
 * by digest.
 */
final class SpirvModule {
    private final MemorySegment bytes;
    private final Sha256 digest;

    private SpirvModule(byte[] own) {
        this.bytes = MemorySegment.ofArray(own).asReadOnly();
        this.digest = Sha256.of(own);
    }

    /**
     * Returns a copy of a module.
     *
     * @param kernel the name of the descriptor, for messages
     * @throws IllegalArgumentException if the bytes are no sound module, or it has no kernel
     */
    static SpirvModule of(String kernel, byte[] module) {
        SpirvModule copy = new SpirvModule(module.clone());
        if (SpirVReader.isBigEndian(copy.bytes)) {
            throw new IllegalArgumentException("The SPIR-V of the kernel " + kernel
                    + " is big-endian: store its words in little-endian order");
        }
        Optional<String> defect = SpirVReader.defect(copy.bytes);
        if (defect.isPresent()) {
            throw new IllegalArgumentException(
                    "The SPIR-V of the kernel " + kernel + " is damaged: " + defect.get());
        }
        if (DeviceKernels.of(copy.bytes).orElseGet(TreeSet::new).isEmpty()) {
            throw new IllegalArgumentException("The SPIR-V of the kernel " + kernel
                    + " has no kernel: its entry points are those of shaders");
        }
        return copy;
    }

    /** Returns the module, read-only. */
    MemorySegment bytes() {
        return bytes;
    }

    /** Returns the digest of the module. */
    Sha256 digest() {
        return digest;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SpirvModule that && digest.equals(that.digest);
    }

    @Override
    public int hashCode() {
        return digest.hashCode();
    }

    @Override
    public String toString() {
        return "SPIR-V " + digest;
    }
}
