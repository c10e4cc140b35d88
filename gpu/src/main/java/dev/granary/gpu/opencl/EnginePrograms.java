package dev.granary.gpu.opencl;

import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.opencl.binding.ProgramCalls;
import dev.granary.gpu.opencl.driver.PoclLaunchLock;
import dev.granary.gpu.opencl.driver.PoclSpecialization;
import dev.granary.gpu.spirv.SpirvSupport;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Supplier;

/**
 * The native programs of one engine: compiled, restored, and loaded again. Thread-safe.
 *
 * <p>For primitives that outlive the engine, such as cached ones, it keeps the programs for the
 * next load, and takes missing binaries before the engine closes. References to primitives are
 * weak.
 */
final class EnginePrograms {
    private static final Logger LOG = LoggerFactory.getLogger(EnginePrograms.class);

    private final OpenClEngine engine;
    private final ProgramBuilder builder;
    private final Set<OpenClPrimitive> registered =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    private final Map<OpenClPrimitive, KeptProgram> keptPrograms =
            Collections.synchronizedMap(new WeakHashMap<>());

    /** A program made from a primitive's binaries, without a reference to the primitive. */
    private record KeptProgram(ProgramHandle program, Cleaner.Cleanable release) {}

    EnginePrograms(OpenClEngine engine, EngineQueue queue) {
        this.engine = engine;
        this.builder = new ProgramBuilder(
                queue.binding().programs(), queue.context(), queue.device().handle());
    }

    /** Compiles a program. Requires an engine lease. */
    ProgramHandle compile(KernelDescriptor descriptor) throws CompileException {
        Optional<MemorySegment> module = descriptor.spirv();
        if (module.isPresent()) { // a query of the device
            new SpirvSupport(engine.target().vendor(), engine.device().intermediateLanguages())
                    .check(descriptor, module.get(), engine.device().toString());
        }
        try {
            return handle(builder.compile(descriptor));
        } catch (DriverException e) {
            throw new CompileException(
                    descriptor.name() + " does not compile: " + e.getMessage(), "");
        }
    }

    /** Restores a primitive from one verified binary. Requires an engine lease. */
    OpenClPrimitive restore(KernelDescriptor descriptor, KernelBinaries binaries)
            throws RestoreException {
        ProgramBuilder.Restored restored = builder.restore(descriptor, binaries.binary(0));
        return OpenClPrimitive.restored(
                descriptor, restored.origin(), handle(restored.program()), binaries);
    }

    private ProgramHandle handle(ProgramBuilder.Built built) {
        return new ProgramHandle(
                engine,
                new NativeHandle(
                        engine.lifetime(),
                        "program",
                        built.program(),
                        engine.binding().programs()::releaseProgram),
                built.kernels());
    }

    /**
     * Returns a program of this engine for that primitive, with a reference for the caller: its
     * own, that of an earlier load, or a new one.
     */
    ProgramHandle load(OpenClPrimitive primitive) throws CompileException {
        ProgramHandle own = primitive.programFor(engine);
        if (own != null) {
            return own;
        }
        KeptProgram kept = keptPrograms.get(primitive);
        if (kept != null && kept.program.handle().retain()) {
            return kept.program;
        }
        ProgramHandle made = create(primitive);
        engine.lifetime().ifOpen(() -> keep(primitive, made));
        return made;
    }

    private ProgramHandle create(OpenClPrimitive primitive) throws CompileException {
        KernelDescriptor descriptor = primitive.descriptor();
        engine.requireTarget(descriptor);
        KernelBinaries binaries = primitive.binariesForEngines();
        if (!binaries.isEmpty()) {
            try (var _ = engine.lease()) {
                ProgramBuilder.Restored restored = builder.restore(descriptor, binaries.binary(0));
                if (restored.origin() == Primitive.Origin.RESTORED) {
                    return handle(restored.program());
                }
                // The driver compiled: keep the program, so that this does not happen at each load.
                return primitive.compiledAgain(handle(restored.program()), binaries, Duration.ZERO);
            } catch (RestoreException | DriverException e) {
                LOG.warn("{} is compiled again: {}", descriptor.name(), e.getMessage());
            }
        }
        long start = System.nanoTime();
        try (var _ = engine.lease()) {
            ProgramHandle program = compile(descriptor);
            return primitive.compiledAgain(
                    program, binaries, Duration.ofNanos(System.nanoTime() - start));
        }
    }

    /** Returns true if a kernel's source requires a work-group size. */
    boolean hasFixedGroup(NativeHandle program) {
        try (var _ = engine.lease()) {
            ProgramCalls calls = engine.binding().programs();
            List<Long> kernels = calls.createKernels(program.get());
            try {
                long device = engine.device().handle();
                return kernels.stream().anyMatch(kernel -> calls.hasFixedGroup(kernel, device));
            } finally {
                kernels.forEach(calls::releaseKernel);
            }
        }
    }

    /** Keeps the program of a primitive that will be loaded again. Requires an open engine. */
    private void keep(OpenClPrimitive primitive, ProgramHandle program) {
        if (primitive.outlivesEngine()
                && !keptPrograms.containsKey(primitive)
                && program.handle().retain()) {
            KeptProgram previous = keptPrograms.put(
                    primitive, new KeptProgram(program, primitive.releaseWithThis(program)));
            if (previous != null) { // another thread was faster
                previous.release.clean();
            }
        }
    }

    /**
     * Takes the binaries of a program from the driver, including the geometries not launched yet if
     * possible; none if the program was released.
     */
    KernelBinaries take(ProgramHandle program, List<Geometry> notLaunched) {
        try (var _ = engine.lifetime().leaseEvenIfClosed()) {
            if (program.handle().isReleased()) {
                return KernelBinaries.none();
            }
            Supplier<MemorySegment> query = () -> engine.binding()
                    .programs()
                    .programBinary(program.handle().get(), engine.device().handle());
            MemorySegment binary = engine.isPocl()
                    ? PoclSpecialization.covering(notLaunched, () -> PoclLaunchLock.take(query))
                    : query.get();
            return binary.byteSize() == 0
                    ? KernelBinaries.none()
                    : KernelBinaries.ofSegments(List.of(binary));
        }
    }

    /**
     * Registers a primitive whose binaries are taken before the engine closes, if it is still
     * reachable.
     */
    void register(OpenClPrimitive primitive) {
        engine.lifetime().ifOpen(() -> registered.add(primitive));
    }

    /** Takes missing binaries and releases all programs, since the engine is closing. */
    void engineClosing() {
        // a copy, without the set's lock: taking binaries may be slow
        for (OpenClPrimitive primitive : List.copyOf(registered)) {
            try {
                primitive.engineClosing(engine);
            } catch (RuntimeException
                    | Error e) { // it will be compiled again; the engine must close all the same
                LOG.warn(
                        "{}: the binaries cannot be taken from the driver: {}",
                        primitive,
                        e.getMessage());
            }
        }
        // otherwise they would be retained as long as the primitives
        List.copyOf(keptPrograms.values()).forEach(kept -> kept.release.clean());
        keptPrograms.clear();
    }
}
