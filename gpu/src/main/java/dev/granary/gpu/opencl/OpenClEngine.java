package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.build.StackReserve;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.DriverTraits;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositePrimitive;
import dev.granary.gpu.composite.EngineSet;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * An OpenCL device with a context and a queue, which compiles programs, takes their binaries,
 * restores and launches them. Context and queue are its own, or {@linkplain #wrap the
 * application's}. Thread-safe.
 *
 * <p>Buffers and kernels belong to their engine and are closed with it. Closing waits for running
 * calls and for launches in progress; later calls throw {@link IllegalStateException}.
 */
public final class OpenClEngine implements KernelEngine<OpenClPrimitive> {
    private static final Logger LOG = LoggerFactory.getLogger(OpenClEngine.class);

    private final OpenClDevice device;
    private final ClBinding binding;
    private final long context;
    private final long queue;
    private final ProgramBuilder programs;
    private final Set<NativeHandle> nativeHandles = ConcurrentHashMap.newKeySet();
    // caches with tensors of this context
    private final Set<ConstantTensorCache> constants = ConcurrentHashMap.newKeySet();
    // read: in use; write: closing
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final EngineLease readLease = lock.readLock()::unlock;
    private boolean isClosed; // guarded by lock
    private final ReentrantLock closeLock = new ReentrantLock(); // held while closing
    private final EnginePrograms enginePrograms = new EnginePrograms(this);
    private final boolean retainsDevice;
    private final PendingEvents pendingEvents;

    /** Creates an engine with a new context and queue. */
    private OpenClEngine(OpenClDevice device, ClBinding binding) {
        this.device = device;
        this.binding = binding;
        this.retainsDevice = false;
        this.context = binding.createContext(device.handle());
        this.programs = new ProgramBuilder(binding, context, device.handle());
        try {
            this.queue = binding.createQueue(context, device.handle());
            this.pendingEvents = new PendingEvents(binding, context, queue, true);
        } catch (OpenClException | Error e) {
            binding.releaseContext(context);
            throw e;
        }
    }

    /** Creates an engine over a retained queue of the application. */
    private OpenClEngine(WrappedQueue wrapped, ClBinding binding) {
        this.device = wrapped.device();
        this.binding = binding;
        this.retainsDevice = device.isPart();
        this.context = wrapped.context();
        this.programs = new ProgramBuilder(binding, context, device.handle());
        this.queue = wrapped.queue();
        this.pendingEvents = new PendingEvents(binding, context, queue, wrapped.isInOrder(binding));
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

    /**
     * Returns an engine over a context and a queue that the application has, such as those of a
     * program with LWJGL. Its ids and entries are those of {@link #open an engine} with objects of
     * its own.
     *
     * <p>The engine retains the objects until it is closed, and then releases them. So the
     * application may release its references before or after. Closing waits for the engine's own
     * launches only.
     *
     * <p>In a queue that executes out of order, a transfer of a buffer does not wait for launches:
     * {@linkplain OpenClEvent#await() await} them first.
     *
     * @param context a {@code cl_context}, of one or several devices
     * @param device the {@code cl_device_id} of the queue; a sub-device is possible
     * @param queue a {@code cl_command_queue} of the host, in order or out of order
     * @throws IllegalArgumentException if a handle is 0, or the queue was created with another
     *     context or device. A number that is no handle, or the handle of a released object, cannot
     *     be detected and may crash the process.
     * @throws IllegalStateException if OpenCL is not installed
     * @throws OpenClException if the driver refuses
     */
    public static OpenClEngine wrap(long context, long device, long queue) {
        return wrap(context, device, queue, new ClBinding());
    }

    static OpenClEngine wrap(long context, long device, long queue, ClBinding binding) {
        WrappedQueue wrapped = WrappedQueue.of(binding, context, device, queue);
        StackReserve.require(); // otherwise an overflow could leave the objects retained
        wrapped.retain(binding);
        return new OpenClEngine(wrapped, binding);
    }

    @Override
    public Target target() {
        return device.target();
    }

    @Override
    public EngineKind kind() {
        return device.kind();
    }

    /** Returns the device. */
    public OpenClDevice device() {
        return device;
    }

    @Override
    public OpenClPrimitive create(KernelDescriptor descriptor) throws CompileException {
        checkTarget(descriptor);
        long start = System.nanoTime();
        try (var _ = lease()) {
            ProgramHandle program = handle(programs.compile(descriptor));
            return OpenClPrimitive.compiled(
                    descriptor, program, Duration.ofNanos(System.nanoTime() - start));
        } catch (OpenClException e) {
            throw new CompileException(
                    descriptor.name() + " does not compile: " + e.getMessage(), "");
        }
    }

    @Override
    public OpenClPrimitive create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        checkTarget(descriptor);
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
            return restore(descriptor, binaries);
        } catch (OpenClException e) {
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
    public OpenClKernels load(OpenClPrimitive primitive) throws RestoreException {
        lease().close(); // throws if the engine is closed
        ProgramHandle program = primitive.programFor(this);
        if (program == null) {
            program = enginePrograms.program(primitive);
        }
        if (program == null) {
            ProgramHandle made = createProgram(primitive);
            ifOpen(() -> enginePrograms.keep(primitive, made));
            program = made;
        }
        return new OpenClKernels(this, primitive, program);
    }

    /** Creates a program of this engine for that primitive, with a reference for the caller. */
    private ProgramHandle createProgram(OpenClPrimitive primitive) throws RestoreException {
        KernelDescriptor descriptor = primitive.descriptor();
        checkTarget(descriptor);
        KernelBinaries binaries = primitive.binariesForEngines();
        if (!binaries.isEmpty()) {
            try (var _ = lease()) {
                ProgramBuilder.Restored restored = programs.restore(descriptor, binaries.binary(0));
                if (restored.origin() == Primitive.Origin.RESTORED) {
                    return handle(restored.program());
                }
                // The driver compiled: keep the program, so that this does not happen at each load.
                return primitive.compiledAgain(handle(restored.program()), binaries, Duration.ZERO);
            } catch (RestoreException | OpenClException e) {
                LOG.warn("{} is compiled again: {}", descriptor.name(), e.getMessage());
            }
        }
        long start = System.nanoTime();
        try (var _ = lease()) {
            ProgramHandle program = handle(programs.compile(descriptor));
            return primitive.compiledAgain(
                    program, binaries, Duration.ofNanos(System.nanoTime() - start));
        } catch (CompileException | OpenClException e) {
            throw new RestoreException(
                    descriptor.name() + " has no binaries for this engine, and no longer compiles: "
                            + e.getMessage());
        }
    }

    @Override
    public OpenClBuffer buffer(long bytes) {
        return new OpenClBuffer(this, bytes);
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

    /**
     * Returns an event that completes after the given events of the application, or without any
     * after all commands that were enqueued before. In a queue that keeps the order, later commands
     * wait for it as well.
     *
     * @param events each a {@code cl_event} of this engine's context; they remain the caller's
     * @throws IllegalArgumentException if one is 0
     * @throws OpenClException if one belongs to another context
     */
    public OpenClEvent marker(long... events) {
        List<Long> waitList = Arrays.stream(events).boxed().toList();
        if (waitList.contains(0L)) {
            throw new IllegalArgumentException("An event (cl_event) is 0");
        }
        OpenClEvent event = new OpenClEvent(pendingEvents, "A marker", new LaunchHolds(), () -> {});
        try (var _ = lease()) {
            pendingEvents.enqueue(event, () -> binding.enqueueMarker(queue, waitList));
        }
        return event;
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
        StackReserve.require();
        closeLock.lock();
        try {
            if (!markClosed()) {
                return;
            }
            pendingEvents.finishAll();
            enginePrograms.engineClosing();
            release();
        } finally {
            closeLock.unlock();
        }
    }

    /** Refuses all later use of this engine; returns false if it was closed already. */
    private boolean markClosed() {
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
            nativeHandles.forEach(NativeHandle::releaseNow);
            nativeHandles.clear();
            binding.releaseQueue(queue);
            binding.releaseContext(context);
            if (retainsDevice) {
                binding.releaseDevice(device.handle());
            }
        } finally {
            lock.writeLock().unlock();
        }
        // without the lock: it calls user code
        constants.forEach(cache -> cache.removeContext(this));
        constants.clear();
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
     * Registers a primitive whose binaries are taken before this engine closes, if it is still
     * reachable.
     */
    void takeBeforeClosing(OpenClPrimitive primitive) {
        ifOpen(() -> enginePrograms.register(primitive));
    }

    /** Runs a short action while this engine cannot close; does nothing if it is closed. */
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
     * Starts a use of the engine's native objects.
     *
     * @throws IllegalStateException if the engine is closed
     */
    EngineLease lease() {
        EngineLease started = leaseEvenIfClosed();
        if (isClosed) {
            started.close();
            throw closed();
        }
        return started;
    }

    /** Starts a use without a check whether the engine is closed. */
    EngineLease leaseEvenIfClosed() {
        // a use that an overflow left open would block closing forever
        StackReserve.requireLittle();
        lock.readLock().lock();
        return readLease;
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

    PendingEvents pendingEvents() {
        return pendingEvents;
    }

    boolean isPocl() {
        return target().vendor().equals(DriverTraits.POCL);
    }

    Set<NativeHandle> nativeHandles() {
        return nativeHandles;
    }

    /**
     * Takes the binaries from the driver, including the geometries not launched yet if possible;
     * none if the program was released.
     */
    KernelBinaries takeBinaries(ProgramHandle program, List<Geometry> notLaunched) {
        try (var _ = leaseEvenIfClosed()) {
            if (program.isReleased()) {
                return KernelBinaries.none();
            }
            Supplier<MemorySegment> query =
                    () -> binding.programBinary(program.program(), device.handle());
            MemorySegment binary = isPocl()
                    ? PoclSpecialization.covering(notLaunched, () -> PoclLaunchLock.take(query))
                    : query.get();
            return binary.byteSize() == 0
                    ? KernelBinaries.none()
                    : KernelBinaries.ofSegments(List.of(binary));
        }
    }

    private OpenClPrimitive restore(KernelDescriptor descriptor, KernelBinaries binaries)
            throws RestoreException {
        ProgramBuilder.Restored restored = programs.restore(descriptor, binaries.binary(0));
        return OpenClPrimitive.restored(
                descriptor, restored.origin(), handle(restored.program()), binaries);
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
            throw new IllegalArgumentException("The descriptor " + descriptor.name() + " is for "
                    + descriptor.target().name() + ", this engine is " + target().name()
                    + ": build the descriptor with engine.target()");
        }
    }
}
