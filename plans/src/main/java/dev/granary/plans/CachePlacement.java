package dev.granary.plans;

import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Placement of the caches of a plan: it finds the active block of each, applies the defaults, and
 * refuses invalid caches.
 */
final class CachePlacement {
    private final PlanLoops loops;
    private final Map<ArrayCache, PlacedCache> placed = new LinkedHashMap<>();

    CachePlacement(PlanLoops loops) {
        this.loops = loops;
    }

    /**
     * Returns the caches in an order that does not depend on the one in which they were added:
     * arrays in the order of the arguments, sources before their copies.
     */
    static List<PlacedCache> of(PlanLoops loops, List<ArrayCache> caches) {
        CachePlacement placement = new CachePlacement(loops);
        caches.forEach(cache -> placement.placed.put(cache, placement.place(cache)));
        List<KernelArray> arrays = loops.schedule().nest().arrays();
        List<PlacedCache> ordered = new ArrayList<>(placement.placed.values());
        ordered.sort((a, b) -> a.array().equals(b.array())
                ? Integer.compare(a.depth(), b.depth())
                : Integer.compare(arrays.indexOf(a.array()), arrays.indexOf(b.array())));
        return List.copyOf(ordered);
    }

    private PlacedCache place(ArrayCache cache) {
        checkSource(cache);
        PlacedCache source =
                cache.source() == null ? null : Objects.requireNonNull(placed.get(cache.source()));
        int position = position(cache, source == null ? 0 : source.position());
        int trigger = trigger(cache, position);
        if (source != null) {
            checkInside(cache, source, position, trigger);
        }
        MemoryLocation location =
                Objects.requireNonNullElse(cache.location(), MemoryLocation.PRIVATE);
        Set<ScheduledLoop> covered = covered(position, location);
        ActiveBlock block = ActiveBlock.of(loops, cache.array(), covered);
        PlacedCache around = PlacedCache.copied(source);
        MemoryLocation memory = around == null ? MemoryLocation.GLOBAL : around.location();
        if (around != null) {
            block = block.within(around.block(), loops);
        }
        List<ScheduledLoop> multiples = multiples(cache.array(), trigger, position);
        ArrayLayout layout = layout(cache, source);
        ElementType sourceType = source == null ? cache.array().type() : source.type();
        ElementType type = Objects.requireNonNullElse(cache.elementType(), sourceType);
        ScheduledLoop buffered = cache.isDoubleBuffered() ? outside(trigger) : null;
        layout.strides(block.sizes()); // refuses coefficients that do not suit the block
        // the distances of neighbours in the memory that is copied
        List<Long> strides = around == null
                ? cache.array().layout().strides(cache.array().shape())
                : around.strides();
        boolean mayBeElided = cache.isThrifty()
                && type == sourceType
                && (cache.location() == null || location == memory)
                && multiples.isEmpty();
        boolean isElided = location == MemoryLocation.CONSTANT
                || (mayBeElided && isContiguous(strides, block.sizes(), layout));
        // a copy to local memory has barriers, which all work-items must reach
        boolean hasSection =
                mayBeElided && !isElided && buffered == null && location == MemoryLocation.PRIVATE;
        PlacedCache result = new PlacedCache(
                cache.array(),
                source,
                position,
                trigger,
                block,
                multiples,
                layout,
                type,
                location,
                isElided,
                hasSection
                        ? ThriftySection.condition(
                                loops,
                                block,
                                strides,
                                sizes -> isContiguous(strides, sizes, layout))
                        : "",
                buffered,
                Objects.requireNonNullElse(cache.doubleBufferLocation(), MemoryLocation.PRIVATE),
                cache.isVectorized(),
                Objects.requireNonNullElse(cache.strategy(), CopyStrategy.STRIPED));
        check(result, covered);
        return result;
    }

    private void checkSource(ArrayCache cache) {
        KernelArray array = cache.array();
        if (!loops.schedule().nest().arrays().contains(array)) {
            throw new IllegalArgumentException(
                    "The nest " + loops.schedule().nest().name() + " has no array " + array
                            + " of this shape, type, role and layout");
        }
        ArrayCache source = cache.source();
        if (source != null && !placed.containsKey(source)) {
            throw new IllegalArgumentException("The plan does not have the cache of " + array
                    + " that is to be cached; add it before");
        }
        for (ArrayCache other : placed.keySet()) {
            if (other.array().equals(array) && Objects.equals(other.source(), source)) {
                throw new IllegalArgumentException("The plan has a cache of " + cache.sourceName()
                        + " already; cache that cache");
            }
        }
    }

    /**
     * Returns the number of loops outside of the cache.
     *
     * @param least the number of loops outside of the source: a budget does not reach beyond it,
     *     although a block in private memory may be smaller than one in local memory
     */
    private int position(ArrayCache cache, int least) {
        if (cache.index() != null) {
            return loops.position(cache.index());
        }
        if (cache.level() != null) {
            return outside(cache, "level", cache.level());
        }
        long budget = Objects.requireNonNull(cache.maxElements());
        int position = loops.count();
        MemoryLocation location =
                Objects.requireNonNullElse(cache.location(), MemoryLocation.PRIVATE);
        while (position > least && volume(cache.array(), position - 1, location) <= budget) {
            position--;
        }
        return position;
    }

    private long volume(KernelArray array, int position, MemoryLocation location) {
        return ActiveBlock.of(loops, array, covered(position, location)).volume();
    }

    private int trigger(ArrayCache cache, int position) {
        int trigger = position;
        if (cache.triggerIndex() != null) {
            trigger = loops.position(cache.triggerIndex());
        } else if (cache.triggerLevel() != null) {
            trigger = outside(cache, "trigger level", cache.triggerLevel());
        }
        if (trigger > position) {
            throw new IllegalArgumentException("The trigger of the cache of " + cache.array()
                    + " is inside of the cache, whose level is " + (loops.count() - position)
                    + "; the level of the trigger, " + (loops.count() - trigger)
                    + ", must be at least that");
        }
        return trigger;
    }

    private int outside(ArrayCache cache, String argument, int level) {
        if (level > loops.count()) {
            throw new IllegalArgumentException("The " + argument + " " + level + " of the cache of "
                    + cache.array() + " exceeds the number of loops, " + loops.count());
        }
        return loops.count() - level;
    }

    private void checkInside(ArrayCache cache, PlacedCache source, int position, int trigger) {
        ArrayCache outer = Objects.requireNonNull(cache.source());
        String names = "The cache of " + cache.array() + " and the cache that it copies ";
        if ((cache.maxElements() == null) != (outer.maxElements() == null)) {
            throw new IllegalArgumentException(
                    names + "must both have a maximum of elements, or both an index or level");
        }
        if (cache.maxElements() != null) {
            if (Objects.requireNonNull(outer.maxElements()) <= cache.maxElements()) {
                throw new IllegalArgumentException(names + "have the maxima " + cache.maxElements()
                        + " and " + outer.maxElements() + "; the second must be larger");
            }
        } else if (source.position() >= position) {
            throw new IllegalArgumentException(names + "have the levels "
                    + (loops.count() - position) + " and " + (loops.count() - source.position())
                    + "; the second must be larger");
        }
        if (source.position() > trigger) {
            throw new IllegalArgumentException(names + "have the trigger level "
                    + (loops.count() - trigger) + " and the level "
                    + (loops.count() - source.position()) + "; the second must be at least the"
                    + " first");
        }
    }

    /**
     * Returns the loops inside of a cache: those that a work-item executes itself, and for local
     * memory those that became work-items, wherever they are.
     */
    private Set<ScheduledLoop> covered(int position, MemoryLocation location) {
        Set<ScheduledLoop> covered = new HashSet<>();
        for (int i = 0; i < loops.count(); i++) {
            ScheduledLoop loop = loops.all().get(i);
            if (loops.isItem(loop) ? location == MemoryLocation.LOCAL : i >= position) {
                if (!loops.isBound(loop) || loops.isItem(loop)) {
                    covered.add(loop);
                }
            }
        }
        return covered;
    }

    private List<ScheduledLoop> multiples(KernelArray array, int trigger, int position) {
        return loops.all().subList(trigger, position).stream()
                .filter(loops::isSequential)
                .filter(loop -> loops.schedule().nest().accesses(array).stream()
                        .flatMap(access -> access.coordinates().stream())
                        .anyMatch(coordinate -> coordinate.factor(loop.dimension()) != 0))
                .toList();
    }

    /** Returns the nearest loop outside of the trigger that work-items execute, if any. */
    private @Nullable ScheduledLoop outside(int trigger) {
        return loops.all().subList(0, trigger).reversed().stream()
                .filter(loops::isSequential)
                .findFirst()
                .orElse(null);
    }

    /** Checks the rules that keep work-items from each other's elements, and the sizes. */
    private void check(PlacedCache cache, Set<ScheduledLoop> covered) {
        PlacedCache source = cache.copiedSource();
        if (source != null && source.location() == MemoryLocation.PRIVATE && cache.isLocal()) {
            throw new IllegalArgumentException("The cache of " + cache.array() + " in local memory"
                    + " cannot copy one in private memory: work-items read no private memory of"
                    + " others");
        }
        ScheduledLoop loop = cache.bufferedLoop();
        if (loop != null && source != null && loops.position(loop.index()) < source.position()) {
            throw new IllegalArgumentException("The cache of " + cache.array() + " cannot be double"
                    + " buffered along " + loop.index() + ": the cache that it copies has no"
                    + " element of the next iteration; double buffer that one");
        }
        if (cache.position() == loops.count() && loops.schedule().vectorized().isPresent()) {
            throw new IllegalArgumentException("The cache of " + cache.array() + " has room for one"
                    + " element, but the innermost loop is vectorized; allow more elements");
        }
        try {
            Math.toIntExact(Math.multiplyExact(cache.blocks(), cache.span()));
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(
                    "The cache of " + cache.array() + " has 2^31 elements or more");
        }
        if (!cache.array().role().isReadOnly()) {
            checkWrites(cache, covered);
        }
    }

    /** Refuses blocks of a written array that contain elements of other work-items or groups. */
    private void checkWrites(PlacedCache cache, Set<ScheduledLoop> covered) {
        for (LoopIndex dimension : loops.schedule().nest().extents().keySet()) {
            List<ScheduledLoop> all = loops.variable(dimension);
            for (int outer = 0; outer < all.size(); outer++) {
                for (ScheduledLoop inner : all.subList(outer + 1, all.size())) {
                    if (covered.contains(all.get(outer))
                            && !covered.contains(inner)
                            && loops.isBound(inner)) {
                        throw new IllegalArgumentException("The cache of " + cache.array()
                                + " would contain elements that other work-items write, since "
                                + inner.index() + " is bound and inside of the tiles of "
                                + all.get(outer).index() + "; bind "
                                + all.get(outer).index()
                                + (cache.isLocal() ? "" : ", or use local memory"));
                    }
                }
            }
        }
    }

    private static ArrayLayout layout(ArrayCache cache, @Nullable PlacedCache source) {
        if (cache.layout() != null) {
            return cache.layout();
        }
        ArrayLayout of = source == null ? cache.array().layout() : source.layout();
        // coefficients are those of the whole source, whose order has no name
        return of.order() == ArrayLayout.Order.COEFFICIENTS ? ArrayLayout.FIRST_MAJOR : of;
    }

    /** Returns true if a block is in consecutive places of its source, in the cache's order. */
    private static boolean isContiguous(
            List<Long> ofSource, List<Integer> sizes, ArrayLayout layout) {
        List<Long> ofCache = layout.strides(sizes);
        long volume = 1;
        for (int r = 0; r < sizes.size(); r++) {
            volume *= sizes.get(r);
            if (sizes.get(r) > 1 && !ofSource.get(r).equals(ofCache.get(r))) {
                return false;
            }
        }
        return layout.span(sizes) == volume;
    }
}
