package dev.granary.plans;

import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.LoopIndex;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Emitter of the loops over the elements of a cache's blocks: by one work-item for private memory,
 * by all of a work-group for local memory.
 */
final class BlockCopier {
    /** The variable that counts the elements of all blocks. */
    static final String ELEMENT = "p";

    /** The number of a work-item in its work-group. */
    static final String ITEM = "item";

    private static final List<Integer> VECTOR_WIDTHS = List.of(16, 8, 4, 2);

    private final SourceWriter out;
    private final PlanLoops loops;
    private final KernelNames names;
    private final List<LoopIndex> offsets = new ArrayList<>();

    BlockCopier(SourceWriter out, PlanLoops loops, KernelNames names) {
        this.out = out;
        this.loops = loops;
        this.names = names;
    }

    /**
     * One loop over an axis of the blocks: the block of an iteration, or a dimension of a block.
     *
     * @param index the variable
     * @param count the number of values
     * @param step the distance of two values
     */
    private record Axis(LoopIndex index, int count, int step) {}

    /**
     * Writes a statement for each element.
     *
     * @param block the block, for the wanted values of the loops outside
     * @param sourceStrides the distances of neighbours in the source, which order the loops
     * @param statement the statement for an element at coordinates
     */
    void each(
            PlacedCache cache,
            ActiveBlock block,
            List<Long> sourceStrides,
            Function<List<AffineIndex>, String> statement) {
        List<Axis> axes = axes(cache, sourceStrides);
        if (cache.isLocal()) {
            openShared(cache, axes, 1);
        } else {
            axes.forEach(axis -> out.openLoop(
                    axis.index(), 0, Math.multiplyExact(axis.count(), axis.step()), axis.step()));
        }
        List<AffineIndex> position = offsets(cache);
        String limits = limits(block, position);
        if (!limits.isEmpty()) {
            out.open("if (" + limits + ")");
        }
        out.line(statement.apply(coordinates(block, position)));
        if (!limits.isEmpty()) {
            out.close();
        }
        for (int i = 0; i < (cache.isLocal() ? 1 : axes.size()); i++) {
            out.close();
        }
    }

    /**
     * Copies the elements by vectors if the cache asks for it and the places permit it.
     *
     * @return false if nothing was written
     */
    boolean byVectors(PlacedCache cache, ActiveBlock block, ElementPlaces from, ElementPlaces to) {
        int width = vectorWidth(cache, block, from, to);
        if (width == 1) {
            return false;
        }
        openShared(cache, axes(cache, from.strides()), width);
        List<AffineIndex> coordinates = coordinates(block, offsets(cache));
        out.line(to.storeVector(
                width, to.place(coordinates), from.loadVector(width, from.place(coordinates))));
        out.close();
        return true;
    }

    /** Returns the widest vectors that the places permit; 1 for none. */
    private int vectorWidth(
            PlacedCache cache, ActiveBlock block, ElementPlaces from, ElementPlaces to) {
        List<Axis> axes = axes(cache, from.strides());
        if (!cache.isVectorized()
                || !cache.isLocal()
                || cache.strategy() != CopyStrategy.BLOCKED
                || !block.limits().isEmpty()
                || axes.isEmpty()
                || from.type() != to.type()) {
            return 1;
        }
        Axis inner = axes.getLast();
        int dimension = offsets.indexOf(inner.index());
        if (dimension < 0
                || from.strides().get(dimension) != 1
                || to.strides().get(dimension) != 1) {
            return 1;
        }
        long each = perItem(cache);
        return VECTOR_WIDTHS.stream()
                .filter(width -> each % width == 0 && inner.count() % width == 0)
                .findFirst()
                .orElse(1);
    }

    /** Returns the number of elements that a work-item copies at most. */
    long perItem(PlacedCache cache) {
        return Math.ceilDiv(cache.elements(), loops.groupItems());
    }

    /** Returns the place of the current element among those that its work-item copies. */
    String ownPlace(PlacedCache cache) {
        return cache.strategy() == CopyStrategy.STRIPED
                ? ELEMENT + " / " + loops.groupItems()
                : ELEMENT + " - " + ITEM + (perItem(cache) == 1 ? "" : " * " + perItem(cache));
    }

    /** Opens the loop over the elements that a work-item copies for its work-group. */
    private void openShared(PlacedCache cache, List<Axis> axes, int width) {
        long all = cache.elements();
        long each = perItem(cache);
        if (cache.strategy() == CopyStrategy.STRIPED) {
            out.open("for (int " + ELEMENT + " = " + ITEM + "; " + ELEMENT + " < " + all + "; "
                    + ELEMENT + " += " + loops.groupItems() + ")");
        } else {
            String start = each == 1 ? ITEM : ITEM + " * " + each;
            String end = "min(" + start + " + " + each + ", " + all + ")";
            out.openLoop(ELEMENT, start, end, width);
        }
        long inner = all;
        for (int i = 0; i < axes.size(); i++) {
            Axis axis = axes.get(i);
            inner /= axis.count();
            String value = inner == 1 ? ELEMENT : ELEMENT + " / " + inner;
            value += i == 0 ? "" : " % " + axis.count();
            value += axis.step() == 1 ? "" : " * " + axis.step();
            out.line("const int " + axis.index() + " = " + value + ";");
        }
    }

    /** Returns the axes with several values, the one with the nearest neighbours innermost. */
    private List<Axis> axes(PlacedCache cache, List<Long> sourceStrides) {
        List<Integer> sizes = cache.block().sizes();
        while (offsets.size() < sizes.size()) {
            offsets.add(LoopIndex.of(names.unused("c" + offsets.size())));
        }
        Stream<Axis> blocks = cache.multiples().stream()
                .map(loop -> new Axis(loop.index(), loop.count(), loop.step()));
        Stream<Axis> elements = IntStream.range(0, sizes.size())
                .boxed()
                .filter(r -> sizes.get(r) > 1)
                .sorted(Comparator.comparing((Integer r) -> sourceStrides.get(r))
                        .reversed())
                .map(r -> new Axis(offsets.get(r), sizes.get(r), 1));
        return Stream.concat(blocks, elements).toList();
    }

    private List<AffineIndex> offsets(PlacedCache cache) {
        List<Integer> sizes = cache.block().sizes();
        return IntStream.range(0, sizes.size())
                .mapToObj(
                        r -> sizes.get(r) > 1 ? AffineIndex.of(offsets.get(r)) : AffineIndex.of(0))
                .toList();
    }

    private static List<AffineIndex> coordinates(ActiveBlock block, List<AffineIndex> offsets) {
        return IntStream.range(0, offsets.size())
                .mapToObj(r -> block.lower().get(r).add(offsets.get(r)))
                .toList();
    }

    private static String limits(ActiveBlock block, List<AffineIndex> offsets) {
        return block.limits().stream()
                .map(limit -> limit.text(offsets.get(limit.dimension())))
                .collect(Collectors.joining(" && "));
    }

    /** Returns the loops, each iteration of which has a block of its own, for a comment. */
    static String multiples(PlacedCache cache) {
        return cache.multiples().stream()
                .map(loop -> loop.index().name())
                .collect(Collectors.joining(", "));
    }
}
