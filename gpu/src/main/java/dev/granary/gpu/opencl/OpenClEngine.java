package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * An OpenCL device with a context and a queue: compiles programs, takes their binaries, restores and launches them. Thread-safe.
 *
 * <p>Buffers and kernels belong to the engine that made them and are closed with it. Closing waits for calls that are under way; what is
 * called afterwards is an {@link IllegalStateException}.
 */
public final class OpenClEngine implements Engine<KernelDescriptor, OpenClPrimitive> {
    private final OpenClDevice device;
    private final ClBinding binding;
    private final long context;
    private final long queue;
    private final Programs programs;
    private final Set<NativeHandle> live = ConcurrentHashMap.newKeySet();
    private final Set<ConstantTensorCache> constants = ConcurrentHashMap.newKeySet(); // those that hold tensors of this context
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(); // read: in use; write: closing
    private final EngineUse use = lock.readLock()::unlock;
    private boolean isClosed; // guarded by lock

    private OpenClEngine(OpenClDevice device, ClBinding binding) {
        this.device = device;
        this.binding = binding;
        this.context = binding.createContext(device.handle());
        this.programs = new Programs(binding, context, device.handle());
        try {
            this.queue = binding.createQueue(context, device.handle());
        } catch (OpenClException e) {
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
     * Makes the resource that launches the primitive's kernels here: from its live program where that is of this engine, else from its
     * binaries. Where there is neither, since its engine was closed before the binaries were taken or since it is not cacheable, it is
     * compiled once more.
     *
     * @throws RestoreException if the driver refuses the binaries, or does not compile any more what it compiled before
     * @throws IllegalStateException if this engine is closed
     */
    public OpenClKernels load(OpenClPrimitive primitive) throws RestoreException {
        use().close(); // says so where the engine is closed
        ProgramHandle program = primitive.programFor(this);
        if (program == null) {
            program = makeHere(primitive).programFor(this);
        }
        if (program == null) {
            throw closed();
        }
        return new OpenClKernels(this, primitive, program);
    }

    private OpenClPrimitive makeHere(OpenClPrimitive primitive) throws RestoreException {
        KernelBinaries binaries = primitive.getBinaries(BinaryKind.KERNEL);
        if (!binaries.isEmpty()) {
            return create(primitive.descriptor(), binaries, BinaryKind.KERNEL);
        }
        try {
            return create(primitive.descriptor());
        } catch (CompileException e) {
            throw new RestoreException(String.valueOf(e.getMessage()));
        }
    }

    /** A buffer of that many bytes, its content undefined. */
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

    @Override
    public void close() {
        lock.writeLock().lock();
        try {
            if (isClosed) {
                return;
            }
            isClosed = true;
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

    /**
     * Starts to use the engine's native objects.
     *
     * @throws IllegalStateException if the engine is closed
     */
    EngineUse use() {
        EngineUse started = useEvenIfClosed();
        if (isClosed) {
            started.close();
            throw closed();
        }
        return started;
    }

    /** Keeps the engine from closing, without asking whether it is closed already. */
    EngineUse useEvenIfClosed() {
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

    Set<NativeHandle> live() {
        return live;
    }

    /** Asks the driver for the binary, made to cover the geometries that have not been launched; none where the engine is closed. */
    KernelBinaries takeBinaries(ProgramHandle program, List<Geometry> notLaunched) {
        try (var _ = useEvenIfClosed()) {
            if (program.isReleased()) {
                return KernelBinaries.none();
            }
            MemorySegment binary = PoclSpecialization.covering(notLaunched, () -> binding.programBinary(program.program()));
            return binary.byteSize() == 0 ? KernelBinaries.none() : KernelBinaries.ofSegments(List.of(binary));
        }
    }

    private OpenClPrimitive restore(KernelDescriptor descriptor, KernelBinaries binaries) throws RestoreException {
        Programs.Restored restored = programs.restore(descriptor, binaries.binary(0));
        return OpenClPrimitive.restored(descriptor, restored.origin(), handle(restored.program()), binaries);
    }

    private ProgramHandle handle(Programs.Built built) {
        return new ProgramHandle(this, built.program(), built.kernels());
    }

    private OpenClBuffer filled(MemorySegment content) {
        OpenClBuffer buffer = buffer(content.byteSize());
        buffer.writeFrom(content);
        return buffer;
    }

    private void checkTarget(KernelDescriptor descriptor) {
        if (!descriptor.target().equals(target())) {
            throw new IllegalArgumentException("The descriptor " + descriptor.name() + " is for " + descriptor.target().name()
                    + ", this engine is " + target().name() + ": build the descriptor with engine.target()");
        }
    }
}
