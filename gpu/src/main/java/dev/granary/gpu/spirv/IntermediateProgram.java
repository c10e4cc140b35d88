package dev.granary.gpu.spirv;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.binary.DeviceKernels;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.TreeSet;

/**
 * A program in SPIR-V, which a driver compiles for its device. It is cached and shared like a
 * binary. Immutable and thread-safe.
 *
 * <p>Its binaries are two: the module, and the identity of the front end that made it, as text.
 */
public final class IntermediateProgram implements Primitive {
    /** The identity of a front end that is not known; its programs are not stored. */
    static final String UNKNOWN_FRONT_END = "";

    private final IntermediateDescriptor descriptor;
    private final Origin origin;
    private final KernelBinaries binaries;
    private final List<String> kernels;
    private final Duration compileTime;

    private IntermediateProgram(
            IntermediateDescriptor descriptor,
            Origin origin,
            KernelBinaries binaries,
            Duration compileTime) {
        this.descriptor = descriptor;
        this.origin = origin;
        this.binaries = binaries;
        this.kernels = List.copyOf(
                DeviceKernels.of(binaries.segments().getFirst()).orElseGet(TreeSet::new));
        this.compileTime = compileTime;
    }

    /** Returns the result of a front end. */
    static IntermediateProgram compiled(
            IntermediateDescriptor descriptor, byte[] spirv, String frontEnd, Duration took) {
        return new IntermediateProgram(
                descriptor,
                Origin.COMPILED,
                KernelBinaries.of(spirv, frontEnd.getBytes(US_ASCII)),
                took);
    }

    /**
     * Returns the program of stored bytes.
     *
     * @throws RestoreException if they are no module and identity, or the key has another front end
     */
    static IntermediateProgram restored(IntermediateDescriptor descriptor, KernelBinaries binaries)
            throws RestoreException {
        if (!(CompatibilityChecker.check(IntermediateDescriptor.TARGET, binaries)
                instanceof BinaryCompatibility.Compatible)) {
            throw new RestoreException(
                    descriptor.name() + ": the stored intermediate program is malformed");
        }
        IntermediateProgram restored =
                new IntermediateProgram(descriptor, Origin.RESTORED, binaries, Duration.ZERO);
        if (!descriptor.frontEnd().orElse(restored.frontEnd()).equals(restored.frontEnd())) {
            throw new RestoreException(descriptor.name()
                    + ": the stored intermediate program is of another front end than its key");
        }
        return restored;
    }

    /** Returns the module of SPIR-V, read-only. */
    public MemorySegment module() {
        return binaries.segments().getFirst();
    }

    /** Returns the identity of the front end that made it, such as {@code ocloc 22.43.24595.41}. */
    public String frontEnd() {
        return new String(binaries.segments().get(1).toArray(ValueLayout.JAVA_BYTE), US_ASCII);
    }

    @Override
    public IntermediateDescriptor descriptor() {
        return descriptor;
    }

    @Override
    public Origin origin() {
        return origin;
    }

    @Override
    public KernelBinaries getBinaries(BinaryKind kind) {
        return kind != BinaryKind.KERNEL
                        || descriptor.getId().isEmpty()
                        || frontEnd().equals(UNKNOWN_FRONT_END)
                ? KernelBinaries.none()
                : binaries;
    }

    @Override
    public Duration compileTime() {
        return compileTime;
    }

    @Override
    public List<String> kernels() {
        return kernels;
    }

    /** Returns none: a module is for every launch. */
    @Override
    public String toString() {
        return descriptor + ", " + origin;
    }
}
