package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.build.StackReserve;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A compiled program of kernels. Thread-safe.
 *
 * <p>It holds binaries; the live program that it was made with stays only until a resource has been made from it and the binaries were
 * taken. {@link OpenClEngine#load} makes the resource that launches.
 */
public final class OpenClPrimitive implements Primitive {
    private static final Cleaner CLEANER = Cleaner.create();

    private final KernelDescriptor descriptor;
    private final Origin origin;
    private final List<String> kernels;
    private final BinaryReadiness completion;
    private final ReentrantLock taking = new ReentrantLock();
    private @Nullable ProgramHandle program; // guarded by this
    private @Nullable KernelBinaries binaries; // guarded by this
    private Cleaner.@Nullable Cleanable ownReference; // guarded by this; none with no program, since it keeps the engine in memory
    private boolean wasLoaded; // guarded by this
    private boolean isKept; // guarded by this
    private final LongAdder compileNanos = new LongAdder();
    private final List<Runnable> whenCompiledAgain = new CopyOnWriteArrayList<>();

    /** A primitive just compiled: its binaries are still inside the driver. */
    static OpenClPrimitive compiled(KernelDescriptor descriptor, ProgramHandle program, Duration buildTime) {
        OpenClPrimitive primitive = new OpenClPrimitive(descriptor, Origin.COMPILED, program, null);
        primitive.compileNanos.add(buildTime.toNanos());
        return primitive;
    }

    /** A primitive made from binaries. */
    static OpenClPrimitive restored(KernelDescriptor descriptor, Origin origin, ProgramHandle program, KernelBinaries binaries) {
        return new OpenClPrimitive(descriptor, origin, program, binaries);
    }

    private OpenClPrimitive(KernelDescriptor descriptor, Origin origin, ProgramHandle program, @Nullable KernelBinaries binaries) {
        this.descriptor = descriptor;
        this.origin = origin;
        this.kernels = program.kernels();
        this.program = program;
        // A recompiled program has new code inside the driver: that is what is worth taking.
        this.binaries = origin == Origin.RECOMPILED ? null : binaries;
        BinaryReadiness watch = BinaryReadiness.of(descriptor, kernels);
        this.completion = origin == Origin.COMPILED ? watch : watch.completed();
        this.ownReference = CLEANER.register(this, program::release);
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
        return kind != BinaryKind.KERNEL || descriptor.getId().isEmpty() ? KernelBinaries.none() : binariesForEngines();
    }

    /**
     * The binaries for other engines of this process, which need no id: within a process the descriptor itself is the key. None where the
     * driver hands out none, or where the engine was closed before they were taken.
     */
    KernelBinaries binariesForEngines() {
        StackReserve.require(); // a lock that is not let go would stop all others
        taking.lock(); // not the monitor: asking the driver may take as long as compiling, and others load meanwhile
        try {
            return takenOrTake();
        } finally {
            taking.unlock();
        }
    }

    private KernelBinaries takenOrTake() {
        ProgramHandle live;
        synchronized (this) {
            KernelBinaries known = binaries;
            if (known != null) {
                return known;
            }
            live = program;
            if (live == null || !live.retain()) {
                return KernelBinaries.none(); // its engine was closed before the binaries were taken
            }
        }
        try {
            long start = System.nanoTime();
            KernelBinaries taken = live.engine().takeBinaries(live, completion.pendingGeometries());
            compileNanos.add(System.nanoTime() - start);
            completion.taken(PoclSpecialization::surelyCovers);
            synchronized (this) {
                binaries = taken;
            }
            return taken;
        } finally {
            live.release();
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
        return completion.covered().stream().map(Launch::toString).toList();
    }

    @Override
    public void onBinariesComplete(Runnable action) {
        completion.onComplete(action);
    }

    @Override
    public void outliveEngine() {
        ProgramHandle live;
        synchronized (this) {
            isKept = true;
            live = program; // also where the binaries are there: a program that was never loaded would keep the closed engine in memory
        }
        if (live != null) {
            live.engine().takeBeforeClosing(this);
        }
    }

    @Override
    public void onCompiledAgain(Runnable action) {
        whenCompiledAgain.add(action);
    }

    /** True where it will be loaded again and again, as one that a cache holds. */
    synchronized boolean isKept() {
        return isKept;
    }

    /** Releases a program that was made from this primitive when the primitive is not reachable any more, or when the result is cleaned. */
    Cleaner.Cleanable releaseWithThis(ProgramHandle made) {
        return CLEANER.register(this, made::release);
    }

    /** Its engine is closing: takes the binaries while there is something to take them from, and lets go of the program. */
    void leaveEngine(OpenClEngine engine) {
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
     * Compiled once more, in another engine. The program becomes this primitive's own where there is no other, or where its binaries are worth
     * nothing, so that the next load need not compile again.
     *
     * @param refused the binaries that the engine could do nothing with; none where there were none
     * @return a reference to the program for the resource that it was compiled for
     */
    ProgramHandle compiledAgain(ProgramHandle fresh, KernelBinaries refused, Duration took) {
        compileNanos.add(took.toNanos());
        boolean isAdopted;
        synchronized (this) {
            isAdopted = (program == null || program.isReleased()) && (binaries == null || binaries == refused) && fresh.retain();
            if (isAdopted) {
                dropProgram();
                program = fresh;
                binaries = null;
                wasLoaded = true;
                ownReference = CLEANER.register(this, fresh::release);
            }
        }
        if (isAdopted) {
            outliveEngine();
        }
        whenCompiledAgain.forEach(Runnable::run);
        return fresh;
    }

    void launched(String kernel, Geometry geometry) {
        completion.launched(kernel, geometry);
    }

    /** The live program for a resource of {@code engine}, retained; null where it must be restored from the binaries. */
    synchronized @Nullable ProgramHandle programFor(OpenClEngine engine) {
        ProgramHandle live = program;
        if (live == null || live.engine() != engine || !live.retain()) {
            return null;
        }
        wasLoaded = true;
        dropProgramIfDone();
        return live;
    }

    private synchronized void dropProgramIfDone() {
        ProgramHandle live = program;
        // Without binaries the live program is all there is.
        if (live != null && wasLoaded && binaries != null && !binaries.isEmpty()) {
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
