package dev.granary.gpu.opencl;

import dev.granary.gpu.DriverTraits;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * Knows which launches must happen before a program's binaries are worth taking, and whom to tell when they have. Thread-safe.
 *
 * <p>A driver that compiles when it builds needs none. One that compiles at launch needs the announced launches, or, where none are announced,
 * the first launch of any kernel.
 */
final class BinaryReadiness {
    private final TreeSet<Launch> covered = new TreeSet<>();
    private final TreeSet<Launch> pending = new TreeSet<>();
    private final List<Runnable> actions = new ArrayList<>();
    private boolean waitsForAnyLaunch;
    private boolean isTaken;

    private BinaryReadiness() {}

    /** What {@code descriptor}'s driver needs for these kernels. */
    static BinaryReadiness of(KernelDescriptor descriptor, List<String> kernels) {
        BinaryReadiness watch = new BinaryReadiness();
        for (Launch launch : descriptor.launches()) {
            if (launch.kernel().equals(Launch.EVERY_KERNEL)) {
                kernels.forEach(kernel -> watch.pending.add(new Launch(kernel, launch.geometry())));
            } else {
                watch.pending.add(launch);
            }
        }
        watch.waitsForAnyLaunch = watch.pending.isEmpty() && DriverTraits.of(descriptor.target()).compilesAtLaunch();
        return watch;
    }

    /** Nothing to wait for: the binaries came with all announced launches. */
    synchronized BinaryReadiness completed() {
        covered.addAll(pending);
        pending.clear();
        waitsForAnyLaunch = false;
        isTaken = true;
        return this;
    }

    /**
     * The binaries were taken: they cover what was launched, and what the driver's own way made them cover.
     *
     * @param isCovered tells of which announced geometries that is sure
     */
    synchronized void taken(Predicate<Geometry> isCovered) {
        isTaken = true;
        pending.stream().filter(launch -> isCovered.test(launch.geometry())).forEach(covered::add);
    }

    /** The geometries that a binary taken now would lack. */
    synchronized List<Geometry> pendingGeometries() {
        return pending.stream().map(Launch::geometry).distinct().toList();
    }

    /** The launches that the binaries cover: those that happened before they were taken, and those that they were made to cover. */
    synchronized Set<Launch> covered() {
        return new TreeSet<>(covered);
    }

    /** Runs {@code action} when nothing is pending any more; now, if that is so. */
    void onComplete(Runnable action) {
        synchronized (this) {
            if (isPending()) {
                actions.add(action);
                return;
            }
        }
        action.run();
    }

    /** A launch has run. */
    void launched(String kernel, Geometry geometry) {
        List<Runnable> due;
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
            due = List.copyOf(actions);
            actions.clear();
        }
        due.forEach(Runnable::run);
    }

    private boolean isPending() {
        return waitsForAnyLaunch || !pending.isEmpty();
    }
}
