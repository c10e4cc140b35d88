package dev.granary.plans.nest;

import dev.granary.plans.nest.IndexExpression.AffineIndex;

/**
 * The index of a loop, identified by its name.
 *
 * @param name letters, digits and underscores; no word of OpenCL C
 */
public record LoopIndex(String name) implements IndexExpression, Comparable<LoopIndex> {
    /**
     * Checks the name.
     *
     * @throws IllegalArgumentException if it cannot be the name of a variable
     */
    public LoopIndex {
        PlanNames.check("An index", name);
    }

    /** Returns the index with that name. */
    public static LoopIndex of(String name) {
        return new LoopIndex(name);
    }

    /**
     * A split of a loop into tiles.
     *
     * @param index the loop
     * @param size the iterations of the inner loop
     * @param inner the index of the inner loop
     */
    public record Tile(LoopIndex index, int size, LoopIndex inner) {}

    /** Returns the split of this loop into tiles of that size, with the index {@link #inner}. */
    public Tile by(int size) {
        return new Tile(this, size, inner());
    }

    /** Returns the index of the loop inside a tile: {@code ii} for {@code i}. */
    public LoopIndex inner() {
        char last = name.charAt(name.length() - 1);
        boolean isOneLetter = name.chars().allMatch(letter -> letter == last);
        return new LoopIndex(isOneLetter ? name + last : name + "_inner");
    }

    @Override
    public AffineIndex affine() {
        return AffineIndex.of(this);
    }

    /** Compares names. */
    @Override
    public int compareTo(LoopIndex other) {
        return name.compareTo(other.name);
    }

    @Override
    public String toString() {
        return name;
    }
}
