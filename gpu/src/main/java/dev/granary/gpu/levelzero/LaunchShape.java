package dev.granary.gpu.levelzero;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.levelzero.binding.GroupShape;

import java.math.BigInteger;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The size of a launch as Level Zero takes it: work-items of a group, and number of groups.
 *
 * @param groupSize the work-items of a group
 * @param groups the number of groups
 */
record LaunchShape(GroupShape groupSize, GroupShape groups) {
    private static final long MAX_SIZE = 0xffff_ffffL;

    /**
     * Returns the shape of a launch.
     *
     * @param suggest returns the driver's group size for a number of work-items
     * @throws IllegalArgumentException if a size is 2^32 or more, or the groups do not divide the
     *     work-items
     */
    static LaunchShape of(Geometry geometry, UnaryOperator<GroupShape> suggest) {
        GroupShape global = shape(geometry.global(), geometry);
        if (geometry.local().isEmpty()) {
            GroupShape suggested = suggest.apply(global);
            GroupShape size = new GroupShape(
                    divisor(global.x(), suggested.x()),
                    divisor(global.y(), suggested.y()),
                    divisor(global.z(), suggested.z()));
            return new LaunchShape(size, groups(global, size));
        }
        GroupShape size = shape(geometry.local(), geometry);
        for (int i = 0; i < geometry.dimensions(); i++) {
            if (geometry.global().get(i) % geometry.local().get(i) != 0) {
                throw new IllegalArgumentException("The work-groups do not divide the work-items of"
                        + " the launch " + geometry);
            }
        }
        return new LaunchShape(size, groups(global, size));
    }

    private static GroupShape shape(List<Long> sizes, Geometry geometry) {
        int[] shape = {1, 1, 1};
        for (int i = 0; i < sizes.size(); i++) {
            long size = sizes.get(i);
            if (size > MAX_SIZE) {
                throw new IllegalArgumentException(
                        "Level Zero launches at most 2^32 - 1 work-items a dimension, not "
                                + geometry);
            }
            shape[i] = (int) size;
        }
        return new GroupShape(shape[0], shape[1], shape[2]);
    }

    private static GroupShape groups(GroupShape global, GroupShape size) {
        return new GroupShape(
                Integer.divideUnsigned(global.x(), size.x()),
                Integer.divideUnsigned(global.y(), size.y()),
                Integer.divideUnsigned(global.z(), size.z()));
    }

    /** Returns the greatest common divisor, since a suggestion need not divide the size. */
    private static int divisor(int size, int suggested) {
        return suggested == 0
                ? 1
                : BigInteger.valueOf(Integer.toUnsignedLong(size))
                        .gcd(BigInteger.valueOf(Integer.toUnsignedLong(suggested)))
                        .intValue();
    }
}
