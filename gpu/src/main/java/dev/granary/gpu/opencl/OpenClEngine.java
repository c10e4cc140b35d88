package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.build.StackReserve;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.gpu.DriverTraits;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An OpenCL device with a context and a queue: compiles programs, takes their binaries, restores and launches them. Thread-safe.
 *
 * <p>Buffers and kernels belong to the engine that made them and are closed with it. Closing waits for calls that are under way; what is
 * called afterwards is an {@link IllegalStateException}.
 */
public final class OpenClEngine implements KernelEngine<OpenClPrimitive> {
    private static final Logger LOG = LoggerFactory.getLogger(OpenClEngine.class);

    private final OpenClDevice device;
    private final ClBinding binding;
    private final long context;
    private final long queue;
    private final ProgramBuilder programs;
    private final Set<NativeHandle> live = ConcurrentHashMap.newKeySet();
    private final Set<ConstantTensorCache> constants = ConcurrentHashMap.newKeySet(); // those that hold tensors of this context
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(); // read: in use; write: closing
    private final EngineLease use = lock.readLock()::unlock;
    private boolean isClosed; // guarded by lock
    private final ReentrantLock closing = new ReentrantLock(); // held by the one who closes
    private final EnginePrograms kept = new EnginePrograms(this);

    private OpenClEngine(OpenClDevice device, ClBinding binding) {
        this.device = device;
        this.binding = binding;
        this.context = binding.createContext(device.handle());
        this.programs = new ProgramBuilder(binding, context, device.handle());
        try {
            this.queue = binding.createQueue(context, device.handle());
        } catch (OpenClException | Error e) {
            binding.releaseContext(context);
            throw e;
        }
    }

    /**
     * Opens a context and a queue on {@code device}.
     *
     * @throws OpenClException if the driver refuses
     */
    public static OpenClEngine open(OpenClDevice device) {
        return new OpenClEngine(device, device.binding());
    }

    static OpenClEngine open(OpenClDevice device, ClBinding binding) {
        return new OpenClEngine(device, binding);
    }

    @Override
    public Target target() {
        return device.target();
    }

    /** The device. */
    public OpenClDevice device() {
        return device;
    }

    @Override
    public OpenClPrimitive create(KernelDescriptor descriptor) throws CompileException {
        checkTarget(descriptor);
        long start = System.nanoTime();
        try (var _ = use()) {
            ProgramHandle program = handle(programs.compile(descriptor));
            return OpenClPrimitive.compiled(descriptor, program, Duration.ofNanos(System.nanoTime() - start));
        } catch (OpenClException e) {
            throw new CompileException(descriptor.name() + " does not compile: " + e.getMessage(), "");
        }
    }

    @Override
    public OpenClPrimitive create(KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) throws RestoreException {
        checkTarget(descriptor);
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException(descriptor.name() + ": binaries of kind " + kind + " are not supported");
        }
        if (descriptor.getId().isEmpty()) {
            throw new RestoreException(descriptor.name() + " is not cacheable: " + descriptor.getId().reason());
        }
        if (binaries.count() != 1 || binaries.byteSize() == 0) {
            throw new RestoreException(descriptor.name() + ": one binary is needed, not " + binaries);
        }
        try (var _ = use()) {
            return restore(descriptor, binaries);
        } catch (OpenClException e) {
            throw new RestoreException(descriptor.name() + ": the driver refuses the binary: " + e.getMessage());
        }
    }

    /**
     * Makes the resource that launches the primitive's kernels here: from a live program of this engine where there is one, else from its
     * binaries. Where there are none, or the driver refuses them, it is compiled once more, which {@link Primitive#onCompiledAgain} tells. The
     * live program of a primitive that {@linkplain Primitive#outliveEngine outlives its engine} stays until this engine closes or the primitive is
     * gone, so that the next load takes microseconds.
     *
     * @throws RestoreException if the driver does not compile any more what it compiled before
     * @throws IllegalStateException if this engine is closed
     */
    @Override
    public OpenClKernels load(OpenClPrimitive primitive) throws RestoreException {
        use().close(); // says so where the engine is closed
        ProgramHandle program = primitive.programFor(this);
        if (program == null) {
            program = kept.program(primitive);
        }
        if (program == null) {
            ProgramHandle made = makeHere(primitive);
            ifOpen(() -> kept.keep(primitive, made));
            program = made;
        }
        return new OpenClKernels(this, primitive, program);
    }

    /** A program of this engine for that primitive, with a reference for the caller. */
    private ProgramHandle makeHere(OpenClPrimitive primitive) throws RestoreException {
        KernelDescriptor descriptor = primitive.descriptor();
        checkTarget(descriptor);
        KernelBinaries binaries = primitive.binariesForEngines();
        if (!binaries.isEmpty()) {
            try (var _ = use()) {
                ProgramBuilder.Restored restored = programs.restore(descriptor, binaries.binary(0));
                if (restored.origin() == Primitive.Origin.RESTORED) {
                    return handle(restored.program());
                }
                // Compiled behind our back: kept, lest it happen at each load.
                return primitive.compiledAgain(handle(restored.program()), binaries, Duration.ZERO);
            } catch (RestoreException | OpenClException e) {
                LOG.warn("{} is compiled once more: {}", descriptor.name(), e.getMessage());
            }
        }
        long start = System.nanoTime();
        try (var _ = use()) {
            ProgramHandle program = handle(programs.compile(descriptor));
            return primitive.compiledAgain(program, binaries, Duration.ofNanos(System.nanoTime() - start));
        } catch (CompileException | OpenClException e) {
            throw new RestoreException(descriptor.name() + " has no binaries for this engine, and does not compile again: " + e.getMessage());
        }
    }

    @Override
    public OpenClBuffer buffer(long bytes) {
        return new OpenClBuffer(this, bytes);
    }

    /** A buffer with a copy of {@code content}. */
    public OpenClBuffer bufferOf(float[] content) {
        return filled(MemorySegment.ofArray(content));
    }

    /** A buffer with a copy of {@code content}. */
    public OpenClBuffer bufferOf(int[] content) {
        return filled(MemorySegment.ofArray(content));
    }

    /** A buffer with a copy of {@code content}. */
    public OpenClBuffer bufferOf(byte[] content) {
        return filled(MemorySegment.ofArray(content));
    }

    /**
     * Releases the context and all that was made in it, after the calls that are under way. The binaries of primitives that outlive this
     * engine are taken first where they were not yet, which may take as long as compiling.
     */
    @Override
    public void close() {
        StackReserve.require();
        closing.lock();
        try {
            if (!refuseUse()) {
                return;
            }
            kept.leave();
            release();
        } finally {
            closing.unlock();
        }
    }

    /** Lets nobody use this engine any more; false if that was so already. */
    private boolean refuseUse() {
        lock.writeLock().lock();
        try {
            boolean isFirst = !isClosed;
            isClosed = true;
            return isFirst;
        } finally {
            lock.writeLock().unlock();
        }
    }

    private void release() {
        lock.writeLock().lock();
        try {
            live.forEach(NativeHandle::releaseNow);
            live.clear();
            binding.releaseQueue(queue);
            binding.releaseContext(context);
        } finally {
            lock.writeLock().unlock();
        }
        constants.forEach(cache -> cache.removeContext(this)); // outside of the lock: it calls who uses them
        constants.clear();
    }

    /**
     * Lets closing remove this engine's tensors from {@code cache}.
     *
     * @throws IllegalStateException if the engine is closed
     */
    void keepsConstantsIn(ConstantTensorCache cache) {
        try (var _ = use()) {
            constants.add(cache);
        }
    }

    /** Takes the binaries of {@code primitive}, if it is still there then, before this engine closes. */
    void takeBeforeClosing(OpenClPrimitive primitive) {
        ifOpen(() -> kept.add(primitive));
    }

    /** Does something short before this engine can close; nothing where it is closed already. */
    private void ifOpen(Runnable action) {
        StackReserve.requireLittle();
        lock.readLock().lock();
        try {
            if (!isClosed) {
                action.run();
            }
        } finally {
            lock.readLock().unlock();
        }
    }

    /**
     * Starts to use the engine's native objects.
     *
     * @throws IllegalStateException if the engine is closed
     */
    EngineLease use() {
        EngineLease started = useEvenIfClosed();
        if (isClosed) {
            started.close();
            throw closed();
        }
        return started;
    }

    /** Keeps the engine from closing, without asking whether it is closed already. */
    EngineLease useEvenIfClosed() {
        StackReserve.requireLittle(); // else the use could not be ended, and closing would wait for ever
        lock.readLock().lock();
        return use;
    }

    private IllegalStateException closed() {
        return new IllegalStateException("The engine on " + device + " is closed");
    }

    ClBinding binding() {
        return binding;
    }

    long context() {
        return context;
    }

    long queue() {
        return queue;
    }

    boolean isPocl() {
        return target().vendor().equals(DriverTraits.POCL);
    }

    Set<NativeHandle> live() {
        return live;
    }

    /** Asks the driver for the binary, made to cover the geometries that have not been launched; none where the program was released. */
    KernelBinaries takeBinaries(ProgramHandle program, List<Geometry> notLaunched) {
        try (var _ = useEvenIfClosed()) {
            if (program.isReleased()) {
                return KernelBinaries.none();
            }
            Supplier<MemorySegment> taking = () -> binding.programBinary(program.program());
            MemorySegment binary = isPocl() ? PoclSpecialization.covering(notLaunched, () -> PoclLaunchLock.take(taking)) : taking.get();
            return binary.byteSize() == 0 ? KernelBinaries.none() : KernelBinaries.ofSegments(List.of(binary));
        }
    }

    private OpenClPrimitive restore(KernelDescriptor descriptor, KernelBinaries binaries) throws RestoreException {
        ProgramBuilder.Restored restored = programs.restore(descriptor, binaries.binary(0));
        return OpenClPrimitive.restored(descriptor, restored.origin(), handle(restored.program()), binaries);
    }

    private ProgramHandle handle(ProgramBuilder.Built built) {
        return new ProgramHandle(this, built.program(), built.kernels());
    }

    private OpenClBuffer filled(MemorySegment content) {
        OpenClBuffer buffer = buffer(content.byteSize());
        try {
            buffer.writeFrom(content);
            return buffer;
        } catch (RuntimeException | Error e) {
            buffer.close();
            throw e;
        }
    }

    private void checkTarget(KernelDescriptor descriptor) {
        if (!descriptor.target().equals(target())) {
            throw new IllegalArgumentException("The descriptor " + descriptor.name() + " is for " + descriptor.target().name()
                    + ", this engine is " + target().name() + ": build the descriptor with engine.target()");
        }
    }
}
