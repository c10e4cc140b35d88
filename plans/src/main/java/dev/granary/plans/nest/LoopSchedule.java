package dev.granary.plans.nest;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The loops of a nest in their order: split, reordered, unrolled and vectorized. The size of a tile
 * need not divide the iterations: the last tile is then smaller. Immutable and thread-safe.
 */
public final class LoopSchedule {
    private static final Set<Integer> VECTOR_WIDTHS = Set.of(2, 4, 8, 16);

    private final LoopNest nest;
    private final List<ScheduledLoop> loops; // in order, outermost first
    private final SortedSet<LoopIndex> unrolled;
    private final @Nullable LoopIndex vectorized;

    private LoopSchedule(
            LoopNest nest,
            List<ScheduledLoop> loops,
            SortedSet<LoopIndex> unrolled,
            @Nullable LoopIndex vectorized) {
        this.nest = nest;
        this.loops = List.copyOf(loops);
        this.unrolled = unrolled;
        this.vectorized = vectorized;
    }

    static LoopSchedule of(LoopNest nest) {
        List<ScheduledLoop> loops = nest.extents().entrySet().stream()
                .map(loop -> new ScheduledLoop(loop.getKey(), loop.getKey(), loop.getValue(), 1))
                .toList();
        return new LoopSchedule(nest, loops, new TreeSet<>(), null);
    }

    /** Splits a loop, as {@link #split(LoopIndex, int, LoopIndex)} with {@code index.inner()}. */
    public LoopSchedule split(LoopIndex index, int size) {
        return split(index, size, index.inner());
    }

    /**
     * Splits a loop into tiles. The loop inside of a tile follows at once in the order.
     *
     * @param size the number of iterations of a tile; the last one may have fewer
     * @param inner the index of the loop inside of a tile
     * @throws IllegalArgumentException if there is no such loop or it is vectorized, the size is
     *     not positive, the name of {@code inner} exists, or there are 32 loops
     */
    public LoopSchedule split(LoopIndex index, int size, LoopIndex inner) {
        ScheduledLoop loop = loop(index);
        if (size <= 0) {
            throw new IllegalArgumentException(
                    "The size of a tile of " + index + " must be positive, not " + size);
        }
        if (loops.size() == LoopNest.MAX_LOOPS) {
            throw new IllegalArgumentException("The loop " + index + " cannot be split: a schedule"
                    + " has at most " + LoopNest.MAX_LOOPS + " loops");
        }
        if (names().contains(inner.name())) {
            throw new IllegalArgumentException("The index " + inner + " for the tiles of " + index
                    + " has the name of the kernel, or of another index or array");
        }
        if (index.equals(vectorized)) {
            throw new IllegalArgumentException(
                    "The loop " + index + " is vectorized; split it before");
        }
        int step = (int) Math.min((long) loop.step() * size, Integer.MAX_VALUE);
        List<ScheduledLoop> changed = new ArrayList<>(loops);
        int position = loops.indexOf(loop);
        changed.set(position, new ScheduledLoop(index, loop.dimension(), loop.extent(), step));
        changed.add(
                position + 1,
                new ScheduledLoop(
                        inner, loop.dimension(), Math.min(step, loop.extent()), loop.step()));
        return new LoopSchedule(nest, changed, unrolled, vectorized);
    }

    /** Splits several loops: {@code tile(i.by(32), j.by(64))}. */
    public LoopSchedule tile(LoopIndex.Tile... tiles) {
        LoopSchedule result = this;
        for (LoopIndex.Tile tile : tiles) {
            result = result.split(tile.index(), tile.size(), tile.inner());
        }
        return result;
    }

    /**
     * Returns the schedule with another order, outermost loop first.
     *
     * @throws IllegalArgumentException if a loop is missing, the loop inside of a tile is outside
     *     of the loop over the tiles, or the vectorized loop is not the innermost one
     */
    public LoopSchedule reorder(LoopIndex... order) {
        List<LoopIndex> indices = List.of(order);
        Set<LoopIndex> given = new HashSet<>(indices);
        if (indices.size() != given.size() || !given.equals(Set.copyOf(order()))) {
            throw new IllegalArgumentException("The order must have each of these loops once: "
                    + order() + ", not " + indices);
        }
        List<ScheduledLoop> changed = new ArrayList<>();
        for (LoopIndex index : indices) {
            ScheduledLoop loop = loop(index);
            for (ScheduledLoop outer : changed) {
                if (outer.dimension().equals(loop.dimension())
                        && loops.indexOf(outer) > loops.indexOf(loop)) {
                    throw new IllegalArgumentException("The loop " + outer.index()
                            + " is inside of the tiles of " + index + " and must follow it");
                }
            }
            changed.add(loop);
        }
        return new LoopSchedule(nest, changed, unrolled, vectorized).checkVector();
    }

    /**
     * Requests that the compiler unrolls a loop. The request has no effect on a loop that has more
     * than 64 iterations, together with the unrolled ones inside of it, or that contains a barrier.
     * It also has none if an incomplete tile has fewer iterations, and the loop has a double
     * buffer.
     *
     * @throws IllegalArgumentException if there is no such loop
     */
    public LoopSchedule unroll(LoopIndex... indices) {
        TreeSet<LoopIndex> changed = new TreeSet<>(unrolled);
        for (LoopIndex index : indices) {
            changed.add(loop(index).index());
        }
        return new LoopSchedule(nest, loops, changed, vectorized);
    }

    /**
     * Executes all iterations of the innermost loop as one, on vectors. An incomplete last tile is
     * executed by a loop.
     *
     * @throws IllegalArgumentException if the loop is not the innermost one, has another number of
     *     iterations than 1, 2, 4, 8 or 16, or the target of the statement does not depend on it
     */
    public LoopSchedule vectorize(LoopIndex index) {
        return new LoopSchedule(nest, loops, unrolled, loop(index).index()).checkVector();
    }

    private LoopSchedule checkVector() {
        if (vectorized == null) {
            return this;
        }
        ScheduledLoop loop = loop(vectorized);
        if (!loops.getLast().equals(loop)) {
            throw new IllegalArgumentException("Only the innermost loop can be vectorized: "
                    + loops.getLast().index() + ", not " + vectorized);
        }
        if (loop.count() > 1 && !VECTOR_WIDTHS.contains(loop.count())) {
            throw new IllegalArgumentException("A vectorized loop has 2, 4, 8 or 16 iterations; "
                    + vectorized + " has " + loop.count() + ": split it");
        }
        if (!nest.isAloneInTarget(loop.dimension())) {
            throw new IllegalArgumentException("The loop " + vectorized + " cannot be vectorized: "
                    + nest.logic().target() + " has no coordinate that depends on "
                    + loop.dimension() + " alone");
        }
        return this;
    }

    /** Returns the nest. */
    public LoopNest nest() {
        return nest;
    }

    /** Returns the loops, outermost first. */
    public List<ScheduledLoop> loops() {
        return loops;
    }

    /** Returns the indices of the loops, outermost first. */
    public List<LoopIndex> order() {
        return loops.stream().map(ScheduledLoop::index).toList();
    }

    /** Returns the unrolled loops. */
    public Set<LoopIndex> unrolled() {
        return Set.copyOf(unrolled);
    }

    /** Returns the vectorized loop. */
    public Optional<ScheduledLoop> vectorized() {
        return Optional.ofNullable(vectorized).map(this::loop);
    }

    /**
     * Returns the loop with that index.
     *
     * @throws IllegalArgumentException if there is none
     */
    public ScheduledLoop loop(LoopIndex index) {
        return loops.stream()
                .filter(loop -> loop.index().equals(index))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "There is no loop " + index + "; the loops are " + order()));
    }

    /** Returns the loops of a dimension, outermost first. */
    public List<ScheduledLoop> loopsOf(LoopIndex dimension) {
        return loops.stream().filter(loop -> loop.dimension().equals(dimension)).toList();
    }

    /** Returns all names: the kernel's, and those of arrays and indices. */
    public Set<String> names() {
        Set<String> names =
                loops.stream().map(loop -> loop.index().name()).collect(Collectors.toSet());
        nest.arrays().forEach(array -> names.add(array.name()));
        nest.extents().keySet().forEach(index -> names.add(index.name()));
        names.add(nest.name());
        return names;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LoopSchedule that
                && nest.equals(that.nest)
                && loops.equals(that.loops)
                && unrolled.equals(that.unrolled)
                && vectorized().equals(that.vectorized());
    }

    @Override
    public int hashCode() {
        return List.of(nest, loops, unrolled, vectorized()).hashCode();
    }

    @Override
    public String toString() {
        return nest.name() + order();
    }

    /**
     * A loop of a schedule. Its index runs from 0 below the extent, in steps. The value of a
     * dimension is the sum of the indices of its loops, and below the extent of the dimension.
     *
     * @param index the index
     * @param dimension the dimension of the nest that the loop is a part of
     * @param extent the end of the index
     * @param step the distance of two values
     */
    public record ScheduledLoop(LoopIndex index, LoopIndex dimension, int extent, int step) {
        /** Returns the number of iterations. */
        public int count() {
            return Math.ceilDiv(extent, step);
        }

        /** Returns the largest value of the index. */
        public int last() {
            return (count() - 1) * step;
        }

        /** Returns a text such as {@code i < 127 by 16}. */
        @Override
        public String toString() {
            return index + " < " + extent + (step == 1 ? "" : " by " + step);
        }

        /** Returns true if the last iteration has fewer inner ones than the others. */
        public boolean hasTail() {
            return count() > 1 && extent % step != 0;
        }
    }
}
