package dev.granary.gpu.engine;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import dev.granary.gpu.device.DriverTraits;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * Tracker of the launches that must happen before a program's binaries are taken. Thread-safe.
 *
 * <p>If the driver compiles at build time, no launch is needed. If it compiles at launch, the
 * announced launches are needed; if none are announced, the first launch of any kernel is.
 */
final class BinaryReadiness {
    private final Set<Launch> covered = new HashSet<>();
    private final Set<Launch> pending = new LinkedHashSet<>(); // geometries as announced
    private final List<Runnable> actions = new ArrayList<>();
    private boolean waitsForAnyLaunch;
    private boolean isTaken;

    private BinaryReadiness() {}

    /** Returns a tracker of the launches that {@code descriptor} announces for these kernels. */
    static BinaryReadiness of(KernelDescriptor descriptor, List<String> kernels) {
        BinaryReadiness readiness = new BinaryReadiness();
        for (Launch launch : descriptor.launches()) {
            if (launch.kernel().equals(Launch.EVERY_KERNEL)) {
                kernels.forEach(
                        kernel -> readiness.pending.add(new Launch(kernel, launch.geometry())));
            } else {
                readiness.pending.add(launch);
            }
        }
        readiness.waitsForAnyLaunch =
                readiness.pending.isEmpty() && DriverTraits.compilesAtLaunch(descriptor.target());
        return readiness;
    }

    /** Marks all announced launches as covered: the binaries came with them. */
    synchronized BinaryReadiness completed() {
        covered.addAll(pending);
        pending.clear();
        waitsForAnyLaunch = false;
        isTaken = true;
        return this;
    }

    /**
     * Records that the binaries were taken. They cover the earlier launches, and those that the
     * driver covers without a launch.
     *
     * @param isCovered returns true for a geometry that the driver certainly covers
     */
    synchronized void taken(Predicate<Geometry> isCovered) {
        isTaken = true;
        pending.stream().filter(launch -> isCovered.test(launch.geometry())).forEach(covered::add);
    }

    /** Returns the announced geometries that a binary taken now would lack. */
    synchronized List<Geometry> pendingGeometries() {
        return pending.stream().map(Launch::geometry).distinct().toList();
    }

    /**
     * Returns the launches that the binaries cover, in order: those before the binaries were taken,
     * and those covered without a launch.
     */
    synchronized Set<Launch> covered() {
        return new TreeSet<>(covered);
    }

    /** Runs {@code action} once no launch is pending; at once if none is. */
    void onComplete(Runnable action) {
        synchronized (this) {
            if (isPending()) {
                actions.add(action);
                return;
            }
        }
        action.run();
    }

    /** Records that a launch has completed. */
    void launched(String kernel, Geometry geometry) {
        synchronized (this) {
            if (!isPending()) {
                return;
            }
            Launch launch = new Launch(kernel, geometry);
            pending.remove(launch);
            if (!isTaken) {
                covered.add(launch);
            }
            waitsForAnyLaunch = false;
            if (isPending()) {
                return;
            }
        }
        launchedUnseen();
    }

    /** Runs the actions now: later launches are not seen, or must not be waited for. */
    void launchedUnseen() {
        List<Runnable> due;
        synchronized (this) {
            pending.clear();
            waitsForAnyLaunch = false;
            due = List.copyOf(actions);
            actions.clear();
        }
        due.forEach(Runnable::run);
    }

    private boolean isPending() {
        return waitsForAnyLaunch || !pending.isEmpty();
    }
}
