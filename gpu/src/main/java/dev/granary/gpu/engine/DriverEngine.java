package dev.granary.gpu.engine;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.Device;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The common part of the engines of all back-ends: it creates, restores and loads programs, takes
 * their binaries, and closes in order. Thread-safe.
 *
 * <p>It keeps native programs for the next load: each until its program is unreachable, or until it
 * was loaded once and has binaries, if the program does not {@linkplain Primitive#outliveEngine
 * outlive its engine}.
 */
public abstract class DriverEngine implements KernelEngine {
    private static final Duration TAKE_LIMIT = Duration.ofSeconds(5); // when it closes
    private static final Logger LOG = LoggerFactory.getLogger(DriverEngine.class);
    private static final Cleaner CLEANER = Cleaner.create();

    private final Device device;
    private final EngineLifetime lifetime;
    private final Map<EngineProgram, Kept> kept = new WeakHashMap<>(); // guarded by itself
    private final ReentrantLock closeLock = new ReentrantLock(); // held while closing

    /** A native program, which does not refer to its program, and the engine's reference to it. */
    private record Kept(NativeHandle handle, Cleaner.Cleanable reference) {}

    /** A compile, or the driver's part of it. */
    @FunctionalInterface
    protected interface Compilation {
        /** Compiles. */
        BuiltProgram compile() throws CompileException;
    }

    protected DriverEngine(Device device, EngineLifetime lifetime) {
        this.device = device;
        this.lifetime = lifetime;
    }

    /** Compiles a program. */
    protected abstract BuiltProgram compile(KernelDescriptor descriptor) throws CompileException;

    /**
     * Restores a program from one verified binary. Requires a lease.
     *
     * @param source the target of the binary
     */
    protected abstract BuiltProgram restore(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException;

    /**
     * Takes the binary of a native program from the driver; an empty one if it provides none.
     * Requires a lease.
     *
     * @param notLaunched the announced geometries without a launch, to be included if possible
     */
    protected abstract MemorySegment takeBinary(
            KernelDescriptor descriptor, long program, List<Geometry> notLaunched);

    /** Returns true if a native program is complete when it is built: binaries are taken then. */
    protected boolean isCompleteAtBuild() {
        return false;
    }

    /** Returns true if a binary certainly covers that geometry without a launch. */
    protected boolean surelyCovers(Geometry geometry) {
        return false;
    }

    /** Creates the kernel of that name. Requires a lease, as all calls about kernels. */
    protected abstract NativeHandle createKernel(long program, String name);

    /** Returns the number of parameters of a kernel. */
    protected abstract int parameters(long kernel);

    /** Returns true if no binary may be taken from the driver during a launch of that kernel. */
    protected boolean excludesTaking(long kernel) {
        return false;
    }

    /**
     * Sets an argument of the next launch.
     *
     * @param bytes the size of the value, or of the local memory
     * @param value the address of the value; 0 for local memory
     */
    protected abstract void setArgument(long kernel, int index, long bytes, long value);

    /**
     * Launches a kernel and waits for its completion.
     *
     * @param excludesTaking as {@link #excludesTaking} returned for it
     * @throws DriverException if the driver refuses the launch, or it fails
     */
    protected abstract void launch(long kernel, Geometry geometry, boolean excludesTaking);

    /** Releases the native context, after all other objects. */
    protected abstract void releaseContext();

    /** Called after this engine was closed. */
    protected void closed() {}

    /** Returns the device. */
    public Device device() {
        return device;
    }

    @Override
    public final Target target() {
        return device.target();
    }

    @Override
    public final List<Target> readableTargets() {
        return device.readableTargets();
    }

    @Override
    public final EngineKind kind() {
        return device.kind();
    }

    @Override
    public final KernelProgram create(KernelDescriptor descriptor) throws CompileException {
        return compiled(descriptor, () -> compile(descriptor));
    }

    /** Creates a program by that compile. */
    protected final KernelProgram compiled(KernelDescriptor descriptor, Compilation compilation)
            throws CompileException {
        requireTarget(descriptor);
        lifetime.checkOpen();
        long start = System.nanoTime();
        return created(descriptor, compilation.compile(), timeSince(start));
    }

    /**
     * Builds a program with a lease: the driver's part of a compile.
     *
     * @param spirv the module that the driver gets, if it is one
     */
    protected final BuiltProgram build(
            KernelDescriptor descriptor, Optional<MemorySegment> spirv, Compilation driver)
            throws CompileException {
        try (var _ = lifetime.lease()) {
            if (spirv.isPresent()) { // a query of the device
                new SpirvSupport(target().vendor(), device.intermediateLanguages())
                        .check(descriptor, spirv.get(), device.toString());
            }
            return driver.compile();
        } catch (DriverException e) {
            throw new CompileException(
                    descriptor.name() + " does not compile: " + e.getMessage(), "");
        }
    }

    @Override
    public final KernelProgram create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        requireTarget(descriptor);
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException(
                    descriptor.name() + ": binaries of kind " + kind + " are not supported");
        }
        return restored(descriptor, binaries, target());
    }

    @Override
    public final KernelProgram create(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        requireTarget(descriptor);
        if (!readableTargets().contains(source)) {
            throw new RestoreException(
                    descriptor.name() + ": this engine does not read binaries of " + source.path());
        }
        return restored(descriptor, binaries, source);
    }

    private KernelProgram restored(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        if (descriptor.getId().isEmpty()) {
            throw new RestoreException(descriptor.name() + " is not cacheable: "
                    + descriptor.getId().reason());
        }
        if (binaries.segments().size() != 1 || binaries.byteSize() == 0) {
            throw new RestoreException(
                    descriptor.name() + ": one binary is needed, not " + binaries);
        }
        return created(descriptor, leasedRestore(descriptor, binaries, source), Duration.ZERO);
    }

    private BuiltProgram leasedRestore(
            KernelDescriptor descriptor, KernelBinaries binaries, Target source)
            throws RestoreException {
        try (var _ = lifetime.lease()) {
            return restore(descriptor, binaries, source);
        } catch (DriverException e) {
            throw new RestoreException(
                    descriptor.name() + ": the driver refuses the binary: " + e.getMessage());
        }
    }

    private EngineProgram created(
            KernelDescriptor descriptor, BuiltProgram built, Duration compileTime) {
        EngineProgram program = new EngineProgram(descriptor, this, built, compileTime);
        keep(program, built.handle());
        takeAtOnce(program);
        return program;
    }

    @Override
    public final LoadedKernels load(KernelProgram program) throws RestoreException {
        EngineProgram own = own(program);
        try {
            return new LaunchableKernels(lifetime, this, own, retained(own));
        } catch (CompileException e) {
            throw new RestoreException(own.descriptor().name()
                    + " has no binaries for this engine, and no longer compiles: "
                    + e.getMessage());
        }
    }

    /**
     * Returns the program as one of an engine with a driver.
     *
     * @throws IllegalArgumentException if it is no such program
     */
    protected static EngineProgram own(KernelProgram program) {
        if (program instanceof EngineProgram own) {
            return own;
        }
        throw new IllegalArgumentException("The program " + program.descriptor().name()
                + " was not created by an engine that loads programs");
    }

    /**
     * Returns the native program of this engine for a program, with a reference for the caller:
     * that of its creation or of an earlier load, or a new one.
     *
     * @throws CompileException if it has no usable binaries and does not compile
     */
    protected final NativeHandle retained(EngineProgram program) throws CompileException {
        requireTarget(program.descriptor());
        lifetime.checkOpen();
        NativeHandle known = retainKept(program);
        if (known != null) {
            return known;
        }
        program.lock().lock();
        try {
            known = retainKept(program); // another thread was faster
            if (known != null) {
                return known;
            }
            NativeHandle made = makeAgain(program);
            if (made.retain()) { // one reference is the caller's, the other one is kept
                keep(program, made);
                program.loaded();
                dropIfDone(program);
            }
            return made;
        } finally {
            program.lock().unlock();
        }
    }

    private @Nullable NativeHandle retainKept(EngineProgram program) {
        Kept found;
        synchronized (kept) {
            found = kept.get(program);
            if (found == null || !found.handle.retain()) {
                return null;
            }
        }
        program.loaded();
        dropIfDone(program);
        return found.handle;
    }

    private NativeHandle makeAgain(EngineProgram program) throws CompileException {
        KernelDescriptor descriptor = program.descriptor();
        KernelBinaries binaries = program.binaries();
        if (!binaries.isEmpty()) {
            try {
                BuiltProgram restored = leasedRestore(descriptor, binaries, target());
                if (restored.origin() == Primitive.Origin.RECOMPILED) {
                    // new binaries, so that the driver does not compile at each load
                    program.compiledAgain(this, restored, binaries, Duration.ZERO);
                }
                return restored.handle();
            } catch (RestoreException e) {
                LOG.warn("{} is compiled again: {}", descriptor.name(), e.getMessage());
            }
        }
        long start = System.nanoTime();
        BuiltProgram compiled = compile(descriptor);
        program.compiledAgain(this, compiled, binaries, timeSince(start));
        return compiled.handle();
    }

    /** Keeps a native program for later loads, and takes over the caller's reference. */
    private void keep(EngineProgram program, NativeHandle made) {
        boolean isOpen = lifetime.ifOpen(() -> {
            Cleaner.Cleanable reference = CLEANER.register(program, made::release);
            synchronized (kept) {
                kept.put(program, new Kept(made, reference));
            }
        });
        if (!isOpen) { // the native program was released with this engine
            program.forget(this);
        }
    }

    /** Releases the native program of a program that does not need it, after its loads. */
    void dropIfDone(EngineProgram program) {
        if (program.isDone()) {
            Kept found;
            synchronized (kept) {
                found = kept.get(program);
            }
            if (found != null) { // not with the monitor: a release waits for a closing engine
                found.reference.clean();
            }
        }
    }

    void takeAtOnce(EngineProgram program) {
        if (isCompleteAtBuild()) {
            program.binaries();
        }
    }

    /** Takes the binaries of a native program; none if it was released. */
    KernelBinaries take(
            KernelDescriptor descriptor, NativeHandle program, List<Geometry> notLaunched) {
        try (var _ = lifetime.leaseEvenIfClosed()) {
            if (program.isReleased()) {
                return KernelBinaries.none();
            }
            MemorySegment binary = takeBinary(descriptor, program.get(), notLaunched);
            return binary.byteSize() == 0
                    ? KernelBinaries.none()
                    : KernelBinaries.ofSegments(List.of(binary));
        }
    }

    private static Duration timeSince(long start) {
        return Duration.ofNanos(System.nanoTime() - start);
    }

    /**
     * Releases the context and all objects in it, after running calls and launches have ended. A
     * context of the application stays with it. Missing binaries of programs that outlive this
     * engine are taken first, which may take as long as compiling: for at most 5 s and one of them,
     * and the others are not stored.
     */
    @Override
    public final void close() {
        closeLock.lock();
        try {
            if (!lifetime.refuseLeases()) {
                return;
            }
            Map<EngineProgram, Kept> last;
            synchronized (kept) {
                last = new HashMap<>(kept);
                kept.clear();
            }
            long end = System.nanoTime() + TAKE_LIMIT.toNanos();
            int untaken = 0;
            try (Closer releases = new Closer()) { // all, even if the driver fails to release one
                releases.add(this::closed);
                releases.add(() -> lifetime.releaseAll(this::releaseContext));
                for (Map.Entry<EngineProgram, Kept> each : last.entrySet()) {
                    if (System.nanoTime() < end) {
                        takeBeforeClose(each.getKey());
                    } else {
                        each.getKey().forget(this);
                        untaken++;
                    }
                    // else retained as long as the program
                    releases.add(each.getValue().reference::clean);
                }
            }
            if (untaken > 0) {
                LOG.warn(
                        "The binaries of {} programs were not taken from the driver within {} s"
                                + " before the engine closed; they are not stored.",
                        untaken,
                        TAKE_LIMIT.toSeconds());
            }
        } finally {
            closeLock.unlock();
        }
    }

    private void takeBeforeClose(EngineProgram program) {
        try {
            program.engineClosing(this);
        } catch (RuntimeException | Error e) { // it will be compiled again; the engine must close
            LOG.warn(
                    "{}: the binaries cannot be taken from the driver: {}",
                    program,
                    e.getMessage());
        }
    }
}
