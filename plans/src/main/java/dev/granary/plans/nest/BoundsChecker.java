package dev.granary.plans.nest;

import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.LoopNest.ArrayAccess;

import java.util.Map;
import java.util.Objects;

/**
 * Checker of the coordinates of a nest against the shapes of its arrays.
 *
 * @param extents the iterations of each dimension
 */
record BoundsChecker(Map<LoopIndex, Integer> extents) {
    /**
     * Checks an access.
     *
     * @throws IllegalArgumentException if an iteration would leave the array, or an index has no
     *     loop
     */
    void check(ArrayAccess access) {
        for (int r = 0; r < access.coordinates().size(); r++) {
            AffineIndex coordinate = access.coordinates().get(r);
            for (LoopIndex index : coordinate.terms().keySet()) {
                if (!extents.containsKey(index)) {
                    throw new IllegalArgumentException(
                            "The index " + index + " of " + access + " has no loop");
                }
            }
            LoopNest.Range range = range(coordinate);
            int size = access.array().shape().get(r);
            if (range.first() < 0 || range.last() >= size) {
                throw new IllegalArgumentException("The coordinate " + coordinate + " of " + access
                        + " is " + range.first() + " to " + range.last() + ", but the array has 0"
                        + " to " + (size - 1));
            }
        }
    }

    LoopNest.Range range(AffineIndex coordinate) {
        long first = coordinate.constant();
        long last = coordinate.constant();
        for (Map.Entry<LoopIndex, Long> term : coordinate.terms().entrySet()) {
            long reach = Math.multiplyExact(
                    term.getValue(), (long) Objects.requireNonNull(extents.get(term.getKey())) - 1);
            first = Math.addExact(first, Math.min(0, reach));
            last = Math.addExact(last, Math.max(0, reach));
        }
        return new LoopNest.Range(first, last);
    }
}
