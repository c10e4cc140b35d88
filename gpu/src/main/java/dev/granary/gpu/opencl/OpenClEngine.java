package dev.granary.gpu.opencl;

import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.device.DriverTraits;
import dev.granary.gpu.engine.BuiltProgram;
import dev.granary.gpu.engine.DriverEngine;
import dev.granary.gpu.engine.EngineLifetime;
import dev.granary.gpu.engine.EngineProgram;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.opencl.binding.ClBinding;
import dev.granary.gpu.opencl.binding.ProgramCalls;
import dev.granary.gpu.opencl.driver.PoclLaunchLock;
import dev.granary.gpu.opencl.driver.PoclSpecialization;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * An OpenCL device with a context and a queue, which compiles programs, takes their binaries,
 * restores and launches them. Context and queue are its own, or {@linkplain #wrap the
 * application's}. Thread-safe.
 *
 * <p>Buffers and kernels belong to their engine and are closed with it. Closing waits for running
 * calls and for launches in progress; later calls throw {@link IllegalStateException}.
 */
public final class OpenClEngine extends DriverEngine {
    private final EngineLifetime lifetime;
    private final EngineQueue queue;
    private final ProgramBuilder builder;
    // caches with tensors of this context
    private final Set<ConstantTensorCache> constants = ConcurrentHashMap.newKeySet();

    private OpenClEngine(EngineQueue queue) {
        this(queue, new EngineLifetime(queue.device().toString()));
    }

    private OpenClEngine(EngineQueue queue, EngineLifetime lifetime) {
        super(queue.device(), lifetime);
        this.lifetime = lifetime;
        this.queue = queue;
        this.builder = new ProgramBuilder(
                lifetime,
                queue.binding().programs(),
                queue.context(),
                queue.device().handle());
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

    /** Returns the device. */
    @Override
    public OpenClDevice device() {
        return queue.device();
    }

    @Override
    protected BuiltProgram compile(KernelDescriptor descriptor) throws CompileException {
        return build(descriptor, descriptor.spirv(), () -> builder.compile(descriptor));
    }

    @Override
    protected BuiltProgram restore(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        return builder.restore(descriptor, binaries);
    }

    @Override
    protected MemorySegment takeBinary(
            KernelDescriptor descriptor, long program, List<Geometry> notLaunched) {
        Supplier<MemorySegment> query =
                () -> binding().programs().programBinary(program, device().handle());
        return isPocl()
                ? PoclSpecialization.covering(notLaunched, () -> PoclLaunchLock.take(query))
                : query.get();
    }

    @Override
    protected boolean surelyCovers(Geometry geometry) {
        return PoclSpecialization.surelyCovers(geometry);
    }

    @Override
    protected NativeHandle createKernel(long program, String name) {
        ProgramCalls calls = binding().programs();
        return new NativeHandle(
                lifetime, "kernel", calls.createKernel(program, name), calls::releaseKernel);
    }

    @Override
    protected int parameters(long kernel) {
        return binding().programs().kernelArguments(kernel);
    }

    @Override
    protected boolean excludesTaking(long kernel) {
        return isPocl() && binding().programs().hasFixedGroup(kernel, device().handle());
    }

    @Override
    protected void setArgument(long kernel, int index, long bytes, long value) {
        binding().programs().setArgument(kernel, index, bytes, value);
    }

    @Override
    protected void launch(long kernel, Geometry geometry, boolean excludesTaking) {
        IntSupplier launch = () -> binding()
                .queues()
                .launch(queue.handle(), kernel, geometry.global(), geometry.local());
        int status = excludesTaking ? PoclLaunchLock.launch(launch) : launch.getAsInt();
        if (status < 0) {
            throw new DriverException("A kernel failed with execution status " + status, status);
        }
    }

    @Override
    protected void releaseContext() {
        queue.release();
    }

    @Override
    protected void closed() {
        // without the lifetime's lock: it calls user code
        constants.forEach(cache -> cache.removeContext(this));
        constants.clear();
    }

    /**
     * Returns the native program for launches by the application itself: the one that {@link #load}
     * uses, or made from the binaries. If there are no binaries, or the driver refuses them, it
     * compiles again, as {@link #load} does.
     *
     * <p>With PoCL, binaries are taken now if the descriptor announces launches, or a kernel
     * requires a work-group size: PoCL up to 5 aborts if they are taken while such a kernel runs.
     *
     * @throws CompileException if the driver no longer compiles the program
     * @throws DriverException if the driver refuses
     * @throws IllegalStateException if this engine is closed
     */
    public OpenClProgram program(KernelProgram program) throws CompileException {
        EngineProgram own = own(program);
        NativeHandle handle = retained(own);
        try {
            if (isPocl()
                    && own.isUntaken()
                    && (!own.descriptor().launches().isEmpty() || hasFixedGroup(handle))) {
                own.binaries();
                own.launchedUnseen();
            }
            return new OpenClProgram(this, own, handle);
        } catch (RuntimeException | Error e) {
            handle.release();
            throw e;
        }
    }

    /** Returns true if a kernel's source requires a work-group size. */
    private boolean hasFixedGroup(NativeHandle program) {
        try (var _ = lease()) {
            ProgramCalls calls = binding().programs();
            List<Long> kernels = calls.createKernels(program.get());
            try {
                return kernels.stream()
                        .anyMatch(kernel -> calls.hasFixedGroup(kernel, device().handle()));
            } finally {
                kernels.forEach(calls::releaseKernel);
            }
        }
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
     * Registers {@code cache}, from which closing removes this engine's tensors.
     *
     * @throws IllegalStateException if the engine is closed
     */
    void registerConstants(ConstantTensorCache cache) {
        try (var _ = lease()) {
            constants.add(cache);
        }
    }

    EngineLifetime lifetime() {
        return lifetime;
    }

    /**
     * Starts a use of the engine's native objects.
     *
     * @throws IllegalStateException if the engine is closed
     */
    EngineLifetime.Lease lease() {
        return lifetime.lease();
    }

    EngineQueue engineQueue() {
        return queue;
    }

    ClBinding binding() {
        return queue.binding();
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
