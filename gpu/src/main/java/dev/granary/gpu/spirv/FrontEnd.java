package dev.granary.gpu.spirv;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Optional;

/**
 * The first step of a compile for drivers that take SPIR-V. To a cache it is an engine that creates
 * {@link IntermediateProgram}s: a machine whose device or driver is new to the fleet builds from a
 * stored one, even without a compiler of OpenCL C. Thread-safe.
 *
 * <p>A machine with a compiler uses programs of that same compiler only, by name and version. One
 * without uses those of any. Programs of a compiler without an identity are not stored.
 */
public final class FrontEnd implements Engine<IntermediateDescriptor, IntermediateProgram> {
    private final SpirvCompiler compiler;

    /** Creates a front end over a compiler. */
    public FrontEnd(SpirvCompiler compiler) {
        this.compiler = compiler;
    }

    /**
     * The second step: a driver, or a compiler of devices that are not here.
     *
     * @param <R> the result
     */
    @FunctionalInterface
    public interface DeviceCompiler<R> {
        /**
         * Compiles a module of SPIR-V for the device.
         *
         * @throws CompileException if the module is refused
         */
        R compile(MemorySegment module) throws CompileException;
    }

    @Override
    public Target target() {
        return IntermediateDescriptor.TARGET;
    }

    @Override
    public IntermediateProgram create(IntermediateDescriptor descriptor) throws CompileException {
        long start = System.nanoTime();
        SpirvCompiler.Presence before = compiler.presence();
        byte[] module = compiler.compile(descriptor.kernel());
        boolean isSame = before.equals(compiler.presence()); // else it was updated meanwhile
        return IntermediateProgram.compiled(
                descriptor,
                module,
                isSame && before instanceof SpirvCompiler.Presence.Installed(String identity)
                        ? identity
                        : IntermediateProgram.UNKNOWN_FRONT_END,
                Duration.ofNanos(System.nanoTime() - start));
    }

    @Override
    public IntermediateProgram create(
            IntermediateDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException(
                    descriptor.name() + ": intermediate programs are no " + kind);
        }
        return IntermediateProgram.restored(descriptor, binaries);
    }

    /** Compiles a kernel in both steps, without a cache; in one step if it has SPIR-V. */
    public <R> R compile(KernelDescriptor kernel, DeviceCompiler<R> device)
            throws CompileException {
        Optional<MemorySegment> spirv = kernel.spirv();
        return spirv.isPresent()
                ? device.compile(spirv.get())
                : device.compile(MemorySegment.ofArray(compiler.compile(kernel)));
    }

    /**
     * Compiles a kernel in both steps, the first one through a cache. A kernel that has SPIR-V
     * needs one step, and is not a part of that cache. If the device refuses a stored program and
     * the compiler makes another one, that takes its place.
     *
     * @param steps the cache of intermediate programs
     * @throws CompileException if no tier has the intermediate program and the compiler is missing
     *     or refuses the source, or if the device refuses the module
     */
    public <R> R compile(KernelDescriptor kernel, StepProvider steps, DeviceCompiler<R> device)
            throws CompileException {
        if (kernel.spirv().isPresent()) {
            return compile(kernel, device);
        }
        SpirvCompiler.Presence presence = compiler.presence();
        if (presence instanceof SpirvCompiler.Presence.Unidentified) {
            return compile(kernel, device);
        }
        IntermediateProgram program = obtain(kernel, presence, steps);
        try {
            return device.compile(program.module());
        } catch (CompileException refused) {
            if (program.origin() == Primitive.Origin.COMPILED
                    || presence instanceof SpirvCompiler.Presence.Absent) {
                throw refused;
            }
            IntermediateProgram fresh = create(program.descriptor());
            if (fresh.module().mismatch(program.module()) < 0) {
                throw refused;
            }
            R built = device.compile(fresh.module());
            steps.replaced(program, fresh);
            return built;
        }
    }

    private IntermediateProgram obtain(
            KernelDescriptor kernel, SpirvCompiler.Presence presence, StepProvider steps)
            throws CompileException {
        IntermediateDescriptor first = IntermediateDescriptor.of(kernel);
        IntermediateProgram program = steps.lookup(this, first);
        return presence instanceof SpirvCompiler.Presence.Installed(String identity)
                        && !program.frontEnd().equals(identity)
                ? steps.lookup(this, first.by(identity))
                : program;
    }

    @Override
    public void close() {}
}
