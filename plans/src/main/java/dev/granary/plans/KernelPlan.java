package dev.granary.plans;

import dev.granary.cache.Target;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopSchedule;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A schedule with bindings to work-groups and work-items, and caches: all that a kernel is emitted
 * from. Immutable and thread-safe.
 *
 * <p>Plans that differ only in the order of their calls are equal, and have one source and one id.
 * The emitted source depends on the plan alone.
 */
public final class KernelPlan {
    private static final int MAX_CACHES = 32;

    private final PlanLoops loops;
    private final List<ArrayCache> caches;
    private final List<PlacedCache> placed;
    // computed at first use; a race computes it twice, with the same result
    private @Nullable String source;

    private KernelPlan(PlanLoops loops, List<ArrayCache> caches) {
        this.loops = loops;
        this.caches = List.copyOf(caches);
        this.placed = CachePlacement.of(loops, caches);
    }

    /** Returns a plan of a schedule, without bindings and caches. */
    public static KernelPlan of(LoopSchedule schedule) {
        return new KernelPlan(new PlanLoops(schedule, new TreeMap<>()), List.of());
    }

    /**
     * Replaces a loop by work-groups or work-items.
     *
     * @throws IllegalArgumentException if the loop or the axis is bound already, the loop is
     *     vectorized, two work-items would write one element, or a work-group would have 2^31
     *     work-items
     */
    public KernelPlan bind(LoopIndex index, ParallelAxis axis) {
        ScheduledLoop loop = loops.schedule().loop(index);
        LoopIndex other = loops.bindings().get(axis);
        if (other != null) {
            throw new IllegalArgumentException("The loop " + index + " cannot be bound to " + axis
                    + ", since " + other + " is");
        }
        if (loops.isBound(loop)) {
            throw new IllegalArgumentException("The loop " + index + " is bound already");
        }
        if (loops.schedule().vectorized().filter(loop::equals).isPresent()) {
            throw new IllegalArgumentException(
                    "The loop " + index + " is vectorized and cannot be bound");
        }
        if (loops.schedule().nest().extent(loop.dimension()) > 1
                && !loops.schedule().nest().isAloneInTarget(loop.dimension())) {
            throw new IllegalArgumentException("The loop " + index + " cannot be bound: work-items"
                    + " would write one element, since "
                    + loops.schedule().nest().logic().target()
                    + " has no coordinate that depends on " + loop.dimension() + " alone");
        }
        SortedMap<ParallelAxis, LoopIndex> bindings = new TreeMap<>(loops.bindings());
        bindings.put(axis, index);
        PlanLoops bound = new PlanLoops(loops.schedule(), bindings);
        if (bound.groupItems() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("The work-groups of " + name() + " would have "
                    + bound.groupItems() + " work-items; bind a smaller loop");
        }
        return new KernelPlan(bound, caches);
    }

    /**
     * Adds a cache. A level means the loops of the order at the time of this call.
     *
     * @throws IllegalArgumentException if the array or the source has a cache already, the cache
     *     breaks a rule, or there are 32 caches; the message names it
     */
    public KernelPlan cache(ArrayCache cache) {
        if (caches.size() == MAX_CACHES) {
            throw new IllegalArgumentException("The plan of " + name() + " has " + MAX_CACHES
                    + " caches; more are not possible");
        }
        List<ArrayCache> more = new ArrayList<>(caches);
        more.add(cache);
        return new KernelPlan(loops, more);
    }

    /** Returns the schedule. */
    public LoopSchedule schedule() {
        return loops.schedule();
    }

    /** Returns the loops that work-groups and work-items replace, by axis. */
    public SortedMap<ParallelAxis, LoopIndex> bindings() {
        return Collections.unmodifiableSortedMap(loops.bindings());
    }

    /** Returns the arguments of the kernel, in order. */
    public List<KernelArray> arguments() {
        return loops.schedule().nest().arrays();
    }

    /** Returns the name of the kernel. */
    public String name() {
        return loops.schedule().nest().name();
    }

    /** Returns the kernel in OpenCL C. */
    public String source() {
        String cached = source;
        if (cached == null) {
            cached = KernelEmitter.emit(loops, placed);
            source = cached;
        }
        return cached;
    }

    /** Returns the only geometry with which the kernel can be launched. */
    public Geometry geometry() {
        int dimensions = loops.bindings().keySet().stream()
                .mapToInt(axis -> axis.dimension() + 1)
                .max()
                .orElse(1);
        List<Long> global = new ArrayList<>();
        List<Long> local = new ArrayList<>();
        for (int dimension = 0; dimension < dimensions; dimension++) {
            long items = loops.size(ParallelAxis.of(true, dimension));
            global.add(items * loops.size(ParallelAxis.of(false, dimension)));
            local.add(items);
        }
        return new Geometry(global, local);
    }

    /**
     * Returns the descriptor of the kernel for a device.
     *
     * @throws IllegalArgumentException if the plan exceeds a limit of the device
     */
    public KernelDescriptor descriptor(Target target, DeviceLimits limits) {
        return describe(target, limits).build();
    }

    /** Returns a builder with all that {@link #descriptor} has, for a descriptor with more. */
    public KernelDescriptor.Builder describe(Target target, DeviceLimits limits) {
        report().check(limits);
        return KernelDescriptor.builder(target, name())
                .source(source())
                .entry(name())
                .launch(name(), geometry());
    }

    /** Returns the memory, work-groups and caches of the plan. */
    public PlanReport report() {
        return PlanReport.of(this, loops, placed);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof KernelPlan that
                && loops.equals(that.loops)
                && placed.equals(that.placed);
    }

    @Override
    public int hashCode() {
        return Objects.hash(loops, placed);
    }

    @Override
    public String toString() {
        return loops.schedule() + " with " + caches.size() + " caches";
    }
}
