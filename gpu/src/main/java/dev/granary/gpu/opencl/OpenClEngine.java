package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.DriverTraits;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositePrimitive;
import dev.granary.gpu.composite.EngineSet;
import dev.granary.gpu.engine.EngineLifetime;
import dev.granary.gpu.engine.LaunchableKernels;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.opencl.binding.ClBinding;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * An OpenCL device with a context and a queue, which compiles programs, takes their binaries,
 * restores and launches them. Context and queue are its own, or {@linkplain #wrap the
 * application's}. Thread-safe.
 *
 * <p>Buffers and kernels belong to their engine and are closed with it. Closing waits for running
 * calls and for launches in progress; later calls throw {@link IllegalStateException}.
 */
public final class OpenClEngine implements KernelEngine<OpenClPrimitive> {
    private final EngineQueue queue;
    private final EnginePrograms programs;
    // caches with tensors of this context
    private final Set<ConstantTensorCache> constants = ConcurrentHashMap.newKeySet();
    private final EngineLifetime lifetime;
    private final ReentrantLock closeLock = new ReentrantLock(); // held while closing

    private OpenClEngine(EngineQueue queue) {
        this.queue = queue;
        this.programs = new EnginePrograms(this, queue);
        this.lifetime = new EngineLifetime(queue.device().toString());
    }

    /**
     * Opens a context and a queue on {@code device}.
     *
     * @throws DriverException if the driver refuses
     */
    public static OpenClEngine open(OpenClDevice device) {
        return open(device, device.binding());
    }

    static OpenClEngine open(OpenClDevice device, ClBinding binding) {
        return new OpenClEngine(EngineQueue.create(device, binding));
    }

    /**
     * Returns an engine over a context and a queue that the application has, such as those of a
     * program with LWJGL. Its ids and entries are those of {@link #open an engine} with objects of
     * its own.
     *
     * <p>The engine retains the objects until it is closed, and then releases them. So the
     * application may release its references before or after. Closing waits for the engine's own
     * launches only.
     *
     * @param context a {@code cl_context}, of one or several devices
     * @param device the {@code cl_device_id} of the queue; a sub-device is possible
     * @param queue a {@code cl_command_queue} of the host, in order or out of order
     * @throws IllegalArgumentException if a handle is 0, or the queue was created with another
     *     context or device. A number that is no handle, or the handle of a released object, cannot
     *     be detected and may crash the process.
     * @throws IllegalStateException if OpenCL is not installed, or the program has no binding of it
     * @throws DriverException if the driver refuses
     */
    public static OpenClEngine wrap(long context, long device, long queue) {
        return wrap(context, device, queue, ClBinding.LIBRARY);
    }

    static OpenClEngine wrap(long context, long device, long queue, ClBinding binding) {
        return new OpenClEngine(EngineQueue.wrap(binding, context, device, queue));
    }

    @Override
    public Target target() {
        return queue.device().target();
    }

    @Override
    public EngineKind kind() {
        return queue.device().kind();
    }

    /** Returns the device. */
    public OpenClDevice device() {
        return queue.device();
    }

    @Override
    public OpenClPrimitive create(KernelDescriptor descriptor) throws CompileException {
        requireTarget(descriptor);
        long start = System.nanoTime();
        try (var _ = lease()) {
            ProgramHandle program = programs.compile(descriptor);
            return OpenClPrimitive.compiled(
                    descriptor, program, Duration.ofNanos(System.nanoTime() - start));
        }
    }

    @Override
    public OpenClPrimitive create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        requireTarget(descriptor);
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException(
                    descriptor.name() + ": binaries of kind " + kind + " are not supported");
        }
        if (descriptor.getId().isEmpty()) {
            throw new RestoreException(descriptor.name() + " is not cacheable: "
                    + descriptor.getId().reason());
        }
        if (binaries.count() != 1 || binaries.byteSize() == 0) {
            throw new RestoreException(
                    descriptor.name() + ": one binary is needed, not " + binaries);
        }
        try (var _ = lease()) {
            return programs.restore(descriptor, binaries);
        } catch (DriverException e) {
            throw new RestoreException(
                    descriptor.name() + ": the driver refuses the binary: " + e.getMessage());
        }
    }

    /**
     * Creates a composite primitive by compiling its kernels, each once.
     *
     * @throws CompileException if a kernel does not compile
     * @throws IllegalArgumentException if the descriptor is for another target
     * @throws IllegalStateException if the primitive needs itself, or this engine is closed
     */
    public CompositePrimitive create(CompositeDescriptor<?> descriptor) throws CompileException {
        return EngineSet.of(this).create(descriptor);
    }

    /**
     * Creates a composite primitive from the binaries of all its kernels, in the order of
     * {@link CompositePrimitive#getBinaries}, without compiling. The binaries must have been
     * verified.
     *
     * @throws RestoreException if the descriptor has the empty id, their number is not that of its
     *     kernels, the driver rejects one, or the kind is not supported
     * @throws IllegalArgumentException if the descriptor is for another target
     * @throws IllegalStateException if this engine is closed
     */
    public CompositePrimitive create(
            CompositeDescriptor<?> descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        return EngineSet.of(this).create(descriptor, binaries, kind);
    }

    /**
     * Loads the primitive's kernels: from a native program of this engine if there is one, else
     * from the binaries. If there are no binaries, or the driver refuses them, it compiles again
     * and reports that through {@link Primitive#onCompiledAgain}.
     *
     * <p>The native program of a primitive that {@linkplain Primitive#outliveEngine outlives its
     * engine} stays until this engine closes or the primitive is unreachable. The next load then
     * takes microseconds.
     *
     * @throws RestoreException if the driver no longer compiles the program
     * @throws IllegalStateException if this engine is closed
     */
    @Override
    public LoadedKernels load(OpenClPrimitive primitive) throws RestoreException {
        lifetime.checkOpen();
        try {
            return new LaunchableKernels(
                    lifetime,
                    new OpenClLauncher(this),
                    primitive,
                    programs.load(primitive).handle(),
                    primitive::launched);
        } catch (CompileException e) {
            throw new RestoreException(primitive.descriptor().name()
                    + " has no binaries for this engine, and no longer compiles: "
                    + e.getMessage());
        }
    }

    /**
     * Returns the primitive's native program for launches by the application itself: of the objects
     * that {@link #load} uses, or made from the binaries. If there are no binaries, or the driver
     * refuses them, it compiles again, as {@link #load} does.
     *
     * <p>With PoCL, binaries are taken now if the descriptor announces launches, or a kernel
     * requires a work-group size: PoCL up to 5 aborts if they are taken while such a kernel runs.
     *
     * @throws CompileException if the driver no longer compiles the program
     * @throws DriverException if the driver refuses
     * @throws IllegalStateException if this engine is closed
     */
    public OpenClProgram program(OpenClPrimitive primitive) throws CompileException {
        lifetime.checkOpen();
        NativeHandle program = programs.load(primitive).handle();
        try {
            if (isPocl() && primitive.isUntaken() && isTakenBeforeLaunches(primitive, program)) {
                primitive.binariesForEngines();
                primitive.launchedUnseen();
            }
            return new OpenClProgram(this, primitive, program);
        } catch (RuntimeException | Error e) {
            program.release();
            throw e;
        }
    }

    private boolean isTakenBeforeLaunches(OpenClPrimitive primitive, NativeHandle program) {
        return !primitive.descriptor().launches().isEmpty() || programs.hasFixedGroup(program);
    }

    /**
     * Returns the {@code cl_context}, valid until this engine is closed.
     *
     * @throws IllegalStateException if this engine is closed
     */
    public long context() {
        lifetime.checkOpen();
        return queue.context();
    }

    /**
     * Returns the {@code cl_command_queue}, valid until this engine is closed.
     *
     * @throws IllegalStateException if this engine is closed
     */
    public long queue() {
        lifetime.checkOpen();
        return queue.handle();
    }

    @Override
    public OpenClBuffer buffer(long bytes) {
        return OpenClBuffer.create(this, bytes);
    }

    /**
     * Returns a buffer over a {@code cl_mem} that the application has created in this engine's
     * context. It retains the memory until it is closed.
     *
     * @throws IllegalArgumentException if {@code memory} is 0, no buffer, or of another context
     */
    public OpenClBuffer wrapBuffer(long memory) {
        return OpenClBuffer.wrap(this, memory);
    }

    /** Returns a new buffer with a copy of {@code content}. */
    public OpenClBuffer bufferOf(float[] content) {
        return filled(MemorySegment.ofArray(content));
    }

    /** Returns a new buffer with a copy of {@code content}. */
    public OpenClBuffer bufferOf(int[] content) {
        return filled(MemorySegment.ofArray(content));
    }

    /** Returns a new buffer with a copy of {@code content}. */
    public OpenClBuffer bufferOf(byte[] content) {
        return filled(MemorySegment.ofArray(content));
    }

    /**
     * Releases the context and all objects in it, after running calls and launches have ended. A
     * context and queue of the application stay with it. Missing binaries of primitives that
     * outlive this engine are taken first, which may take as long as compiling.
     */
    @Override
    public void close() {
        closeLock.lock();
        try {
            if (!lifetime.refuseLeases()) {
                return;
            }
            programs.engineClosing();
            lifetime.releaseAll(queue::release);
            // without the lifetime's lock: it calls user code
            constants.forEach(cache -> cache.removeContext(this));
            constants.clear();
        } finally {
            closeLock.unlock();
        }
    }

    /**
     * Registers {@code cache}, from which closing removes this engine's tensors.
     *
     * @throws IllegalStateException if the engine is closed
     */
    void registerConstants(ConstantTensorCache cache) {
        try (var _ = lease()) {
            constants.add(cache);
        }
    }

    /**
     * Starts a use of the engine's native objects.
     *
     * @throws IllegalStateException if the engine is closed
     */
    EngineLifetime.Lease lease() {
        return lifetime.lease();
    }

    EngineLifetime lifetime() {
        return lifetime;
    }

    EngineQueue engineQueue() {
        return queue;
    }

    ClBinding binding() {
        return queue.binding();
    }

    EnginePrograms programs() {
        return programs;
    }

    boolean isPocl() {
        return target().vendor().equals(DriverTraits.POCL);
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
}
