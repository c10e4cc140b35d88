package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
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
    /** Intel's driver says so in the build log when a binary did not fit and it compiled the embedded intermediate code anew. */
    private static final String RECOMPILED_MARK = "recompiled-from-ir";
    private static final Path TEMPORARY = Path.of(System.getProperty("java.io.tmpdir"));

    private final OpenClDevice device;
    private final ClBinding binding;
    private final long context;
    private final long queue;
    private final Set<NativeHandle> live = ConcurrentHashMap.newKeySet();
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(); // read: in use; write: closing
    private final EngineUse use = lock.readLock()::unlock;
    private boolean isClosed; // guarded by lock

    private OpenClEngine(OpenClDevice device, ClBinding binding) {
        this.device = device;
        this.binding = binding;
        this.context = binding.createContext(device.handle());
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
            ProgramHandle program = compile(descriptor);
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

    private ProgramHandle compile(KernelDescriptor descriptor) throws CompileException {
        long program = binding.createProgramWithSource(context, descriptor.sources());
        try {
            build(program, descriptor);
            List<String> kernels = kernelsOf(program, descriptor);
            for (Launch launch : descriptor.launches()) {
                if (!launch.kernel().equals(Launch.EVERY_KERNEL) && !kernels.contains(launch.kernel())) {
                    throw new CompileException(descriptor.name() + " announces the launch " + launch + ", but its kernels are "
                            + String.join(", ", kernels) + ": correct the launch or name the entry", "");
                }
            }
            return new ProgramHandle(this, program, kernels);
        } catch (CompileException | RuntimeException e) {
            binding.releaseProgram(program);
            throw e;
        }
    }

    private OpenClPrimitive restore(KernelDescriptor descriptor, KernelBinaries binaries) throws RestoreException {
        long program = binding.createProgramWithBinary(context, device.handle(), binaries.binary(0));
        try {
            if (!binding.buildProgram(program, device.handle(), descriptor.options())) {
                throw new RestoreException(
                        descriptor.name() + ": the driver refuses the binary: " + binding.buildLog(program, device.handle()));
            }
            boolean recompiled = binding.buildLog(program, device.handle()).contains(RECOMPILED_MARK);
            List<String> kernels = kernelsOf(program, descriptor);
            return OpenClPrimitive.restored(descriptor, recompiled ? Primitive.Origin.RECOMPILED : Primitive.Origin.RESTORED,
                    new ProgramHandle(this, program, kernels), binaries);
        } catch (RestoreException | RuntimeException e) {
            binding.releaseProgram(program);
            throw e;
        }
    }

    private void build(long program, KernelDescriptor descriptor) throws CompileException {
        if (descriptor.headers().isEmpty()) {
            build(program, descriptor, descriptor.options());
            return;
        }
        try (HeaderDirectory headers = new HeaderDirectory(descriptor, TEMPORARY)) {
            build(program, descriptor, headers.options() + " " + descriptor.options());
        } catch (IOException e) {
            throw new CompileException(descriptor.name() + ": its headers could not be laid out for the compiler: " + e.getMessage(), "");
        }
    }

    private void build(long program, KernelDescriptor descriptor, String options) throws CompileException {
        if (!binding.buildProgram(program, device.handle(), options.strip())) {
            throw new CompileException(descriptor.name() + " does not compile", binding.buildLog(program, device.handle()));
        }
    }

    /** The names of the wanted kernels, each of which was made once: some drivers compile only then. */
    private List<String> kernelsOf(long program, KernelDescriptor descriptor) {
        List<Long> kernels = new ArrayList<>();
        try {
            if (descriptor.entries().isEmpty()) {
                kernels.addAll(binding.createKernels(program));
            }
            for (String entry : descriptor.entries()) {
                kernels.add(binding.createKernel(program, entry));
            }
            return kernels.stream().map(binding::kernelName).sorted().toList();
        } finally {
            kernels.forEach(binding::releaseKernel);
        }
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
