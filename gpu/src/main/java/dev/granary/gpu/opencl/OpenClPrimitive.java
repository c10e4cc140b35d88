package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.List;
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
    private final CompletionWatch completion;
    private final ReentrantLock taking = new ReentrantLock();
    private @Nullable ProgramHandle program; // guarded by this
    private @Nullable KernelBinaries binaries; // guarded by this
    private final Cleaner.Cleanable ownReference;
    private boolean wasLoaded; // guarded by this
    private volatile Duration compileTime = Duration.ZERO; // grows under the lock 'taking'

    /** A primitive just compiled: its binaries are still inside the driver. */
    static OpenClPrimitive compiled(KernelDescriptor descriptor, ProgramHandle program, Duration buildTime) {
        OpenClPrimitive primitive = new OpenClPrimitive(descriptor, Origin.COMPILED, program, null);
        primitive.compileTime = buildTime;
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
        CompletionWatch watch = CompletionWatch.of(descriptor, kernels);
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
        if (kind != BinaryKind.KERNEL || descriptor.getId().isEmpty()) {
            return KernelBinaries.none();
        }
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
            compileTime = compileTime.plusNanos(System.nanoTime() - start);
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
        return compileTime;
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
            program = null;
            ownReference.clean();
        }
    }

    @Override
    public String toString() {
        return descriptor + ", " + origin;
    }
}
