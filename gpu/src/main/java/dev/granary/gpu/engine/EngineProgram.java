package dev.granary.gpu.engine;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.Launch;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A program that a {@link DriverEngine} has created. Thread-safe.
 *
 * <p>It has binaries, or knows the native program to take them from. Native programs belong to the
 * engines.
 */
public final class EngineProgram implements KernelProgram {
    private final KernelDescriptor descriptor;
    private final Origin origin;
    private final List<String> kernels;
    private final BinaryReadiness readiness;
    private final ReentrantLock lock = new ReentrantLock();
    // guarded by this, like the following fields; at most one of the two is present
    private @Nullable Source untaken;
    private @Nullable KernelBinaries binaries;
    private boolean wasLoaded;
    private boolean outlivesEngine;
    private final LongAdder compileNanos = new LongAdder();
    private final List<Runnable> compiledAgainActions = new CopyOnWriteArrayList<>();

    /** A native program whose binaries were not taken yet. It retains the engine. */
    private record Source(DriverEngine engine, NativeHandle handle) {}

    EngineProgram(
            KernelDescriptor descriptor,
            DriverEngine engine,
            BuiltProgram built,
            Duration compileTime) {
        this.descriptor = descriptor;
        this.origin = built.origin();
        this.kernels = built.kernels();
        BinaryReadiness tracker = BinaryReadiness.of(descriptor, kernels);
        this.readiness = origin == Origin.COMPILED ? tracker : tracker.completed();
        this.binaries = built.binaries();
        this.untaken = binaries == null ? new Source(engine, built.handle()) : null;
        compileNanos.add(compileTime.toNanos());
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
                : binaries();
    }

    /**
     * Returns the binaries for other engines of this process. They need no id, since within a
     * process the descriptor is the key. None if the driver provides none, or if the engine was
     * closed before they were taken.
     */
    public KernelBinaries binaries() {
        synchronized (this) {
            if (untaken == null) { // no wait for an engine that compiles this program again
                return orNone(binaries);
            }
        }
        lock.lock();
        try {
            Source source;
            synchronized (this) {
                source = untaken;
                if (source == null || !source.handle.retain()) {
                    return orNone(binaries);
                }
            }
            try {
                return takeFrom(source);
            } finally {
                source.handle.release();
                source.engine.dropIfDone(this);
            }
        } finally {
            lock.unlock();
        }
    }

    private static KernelBinaries orNone(@Nullable KernelBinaries binaries) {
        return binaries == null ? KernelBinaries.none() : binaries;
    }

    private KernelBinaries takeFrom(Source source) {
        long start = System.nanoTime();
        KernelBinaries taken =
                source.engine.take(descriptor, source.handle, readiness.pendingGeometries());
        compileNanos.add(System.nanoTime() - start);
        readiness.taken(source.engine::surelyCovers);
        synchronized (this) {
            binaries = taken;
            untaken = null;
        }
        return taken;
    }

    /**
     * Returns the lock of slow operations: taking binaries, and making a native program of them.
     * Loads of a native program that exists do not need it.
     */
    ReentrantLock lock() {
        return lock;
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
    public synchronized void outliveEngine() {
        outlivesEngine = true;
    }

    @Override
    public void onCompiledAgain(Runnable action) {
        compiledAgainActions.add(action);
    }

    /** Takes the binaries if they are needed later, since the engine is closing. */
    void engineClosing(DriverEngine engine) {
        try {
            if (outlivesEngine()) {
                binaries();
            }
        } finally {
            forget(engine);
        }
    }

    private synchronized boolean outlivesEngine() {
        return outlivesEngine;
    }

    /** Forgets the native program of an engine that is closed, and so the engine. */
    synchronized void forget(DriverEngine engine) {
        if (untaken != null && untaken.engine == engine) {
            untaken = null;
        }
    }

    /**
     * Records that an engine has compiled this program again. The new one becomes the source of the
     * binaries if there are no usable ones, so that the next load does not compile. Requires the
     * lock.
     *
     * @param refused the binaries that the engine could not use; empty if there were none
     */
    void compiledAgain(
            DriverEngine engine, BuiltProgram built, KernelBinaries refused, Duration took) {
        compileNanos.add(took.toNanos());
        synchronized (this) {
            boolean hasSource = untaken != null && !untaken.handle.isReleased();
            if (!hasSource && (binaries == null || binaries == refused)) {
                untaken = new Source(engine, built.handle());
                binaries = null;
                outlivesEngine = true;
            }
        }
        engine.takeAtOnce(this);
        compiledAgainActions.forEach(Runnable::run);
    }

    void launched(String kernel, Geometry geometry) {
        readiness.launched(kernel, geometry);
    }

    /** Returns true if the binaries were not taken from the driver yet. */
    public synchronized boolean isUntaken() {
        return binaries == null;
    }

    synchronized void loaded() {
        wasLoaded = true;
    }

    /** Returns true if its native programs are not needed for later loads. */
    synchronized boolean isDone() {
        // without binaries, the native program is the only copy
        return wasLoaded && !outlivesEngine && binaries != null && !binaries.isEmpty();
    }

    /** Lets the binaries be taken now: the application's own launches are not seen. */
    public void launchedUnseen() {
        readiness.launchedUnseen();
    }

    @Override
    public String toString() {
        return descriptor + ", " + origin;
    }
}
