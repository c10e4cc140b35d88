package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import dev.granary.gpu.opencl.driver.BinaryReadiness;
import dev.granary.gpu.opencl.driver.PoclSpecialization;

import org.jspecify.annotations.Nullable;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A compiled program of kernels. Thread-safe.
 *
 * <p>It holds binaries. It keeps the native program it was made with only until the program has
 * been loaded once and its binaries were taken. {@link OpenClEngine#load} creates its kernels.
 */
public final class OpenClPrimitive implements Primitive {
    private static final Cleaner CLEANER = Cleaner.create();

    private final KernelDescriptor descriptor;
    private final Origin origin;
    private final List<String> kernels;
    private final BinaryReadiness readiness;
    private final ReentrantLock takeLock = new ReentrantLock();
    private @Nullable ProgramHandle program; // guarded by this
    private @Nullable KernelBinaries binaries; // guarded by this
    // guarded by this; null without a program, since it retains the engine
    private Cleaner.@Nullable Cleanable ownReference;
    private boolean wasLoaded; // guarded by this
    private boolean outlivesEngine; // guarded by this
    private final LongAdder compileNanos = new LongAdder();
    private final List<Runnable> compiledAgainActions = new CopyOnWriteArrayList<>();

    private OpenClPrimitive(
            KernelDescriptor descriptor,
            Origin origin,
            ProgramHandle program,
            @Nullable KernelBinaries binaries) {
        this.descriptor = descriptor;
        this.origin = origin;
        this.kernels = program.kernels();
        this.program = program;
        // The driver has compiled new code: take that instead of the old binaries.
        this.binaries = origin == Origin.RECOMPILED ? null : binaries;
        BinaryReadiness tracker = BinaryReadiness.of(descriptor, kernels);
        this.readiness = origin == Origin.COMPILED ? tracker : tracker.completed();
        this.ownReference = CLEANER.register(this, program.handle()::release);
    }

    /** Returns a newly compiled primitive, whose binaries are still in the driver. */
    static OpenClPrimitive compiled(
            KernelDescriptor descriptor, ProgramHandle program, Duration buildTime) {
        OpenClPrimitive primitive = new OpenClPrimitive(descriptor, Origin.COMPILED, program, null);
        primitive.compileNanos.add(buildTime.toNanos());
        return primitive;
    }

    /** Returns a primitive restored from binaries. */
    static OpenClPrimitive restored(
            KernelDescriptor descriptor,
            Origin origin,
            ProgramHandle program,
            KernelBinaries binaries) {
        return new OpenClPrimitive(descriptor, origin, program, binaries);
    }

    @Override
    public KernelDescriptor descriptor() {
        return descriptor;
    }

    @Override
    public Origin origin() {
        return origin;
    }

    @Override
    public KernelBinaries getBinaries(BinaryKind kind) {
        return kind != BinaryKind.KERNEL || descriptor.getId().isEmpty()
                ? KernelBinaries.none()
                : binariesForEngines();
    }

    /**
     * Returns the binaries for other engines of this process. They need no id, since within a
     * process the descriptor is the key. None if the driver provides none, or if the engine was
     * closed before they were taken.
     */
    KernelBinaries binariesForEngines() {
        // not the monitor: taking may be as slow as compiling, and loads must not wait
        takeLock.lock();
        try {
            return takeIfMissing();
        } finally {
            takeLock.unlock();
        }
    }

    private KernelBinaries takeIfMissing() {
        ProgramHandle current;
        synchronized (this) {
            KernelBinaries taken = binaries;
            if (taken != null) {
                return taken;
            }
            current = program;
            if (current == null || !current.handle().retain()) {
                // the engine was closed before the binaries were taken
                return KernelBinaries.none();
            }
        }
        try {
            long start = System.nanoTime();
            KernelBinaries taken =
                    current.engine().programs().take(current, readiness.pendingGeometries());
            compileNanos.add(System.nanoTime() - start);
            readiness.taken(PoclSpecialization::surelyCovers);
            synchronized (this) {
                binaries = taken;
            }
            return taken;
        } finally {
            current.handle().release();
            dropProgramIfDone();
        }
    }

    @Override
    public Duration compileTime() {
        return Duration.ofNanos(compileNanos.sum());
    }

    @Override
    public List<String> kernels() {
        return kernels;
    }

    @Override
    public List<String> geometries() {
        return readiness.covered().stream().map(Launch::toString).toList();
    }

    @Override
    public void onBinariesComplete(Runnable action) {
        readiness.onComplete(action);
    }

    @Override
    public void outliveEngine() {
        ProgramHandle current;
        synchronized (this) {
            outlivesEngine = true;
            // even if there are binaries: a program never loaded would retain the closed engine
            current = program;
        }
        if (current != null) {
            current.engine().programs().register(this);
        }
    }

    @Override
    public void onCompiledAgain(Runnable action) {
        compiledAgainActions.add(action);
    }

    /** Returns true if it will be loaded repeatedly, like a cached primitive. */
    synchronized boolean outlivesEngine() {
        return outlivesEngine;
    }

    /**
     * Releases a program made from this primitive when the primitive becomes unreachable or the
     * result is cleaned.
     */
    Cleaner.Cleanable releaseWithThis(ProgramHandle made) {
        return CLEANER.register(this, made.handle()::release);
    }

    /**
     * Takes the binaries while they are available and releases the program, since the engine is
     * closing.
     */
    void engineClosing(OpenClEngine engine) {
        try {
            binariesForEngines();
        } finally {
            synchronized (this) {
                if (program != null && program.engine() == engine) {
                    dropProgram();
                }
            }
        }
    }

    /**
     * Records that this primitive was compiled again, in another engine. It adopts the program if
     * it has no other, or no usable binaries, so that the next load does not compile.
     *
     * @param refused the binaries that the engine could not use; empty if there were none
     * @return a reference to the program for the load that it was compiled for
     */
    ProgramHandle compiledAgain(ProgramHandle compiled, KernelBinaries refused, Duration took) {
        compileNanos.add(took.toNanos());
        boolean isAdopted;
        synchronized (this) {
            isAdopted = (program == null || program.handle().isReleased())
                    && (binaries == null || binaries == refused)
                    && compiled.handle().retain();
            if (isAdopted) {
                dropProgram();
                program = compiled;
                binaries = null;
                wasLoaded = true;
                ownReference = CLEANER.register(this, compiled.handle()::release);
            }
        }
        if (isAdopted) {
            outliveEngine();
        }
        compiledAgainActions.forEach(Runnable::run);
        return compiled;
    }

    void launched(String kernel, Geometry geometry) {
        readiness.launched(kernel, geometry);
    }

    /** Returns true if the binaries were not taken from the driver yet. */
    synchronized boolean isUntaken() {
        return binaries == null;
    }

    /** Lets the binaries be taken now: the application's own launches are not seen. */
    void launchedUnseen() {
        readiness.launchedUnseen();
    }

    /**
     * Returns the native program, retained, for a load into {@code engine}; null if it must be
     * restored from the binaries.
     */
    synchronized @Nullable ProgramHandle programFor(OpenClEngine engine) {
        ProgramHandle current = program;
        if (current == null || current.engine() != engine || !current.handle().retain()) {
            return null;
        }
        wasLoaded = true;
        dropProgramIfDone();
        return current;
    }

    private synchronized void dropProgramIfDone() {
        ProgramHandle current = program;
        // Without binaries, the native program is the only copy.
        if (current != null && wasLoaded && binaries != null && !binaries.isEmpty()) {
            dropProgram();
        }
    }

    private synchronized void dropProgram() {
        Cleaner.Cleanable own = ownReference;
        program = null;
        ownReference = null;
        if (own != null) {
            own.clean();
        }
    }

    @Override
    public String toString() {
        return descriptor + ", " + origin;
    }
}
