package dev.granary.plans;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayRole;

import org.jspecify.annotations.Nullable;

/** Checks of those arguments of a cache that do not depend on the loops of the plan. */
final class CacheArguments {
    private CacheArguments() {}

    static long positive(KernelArray array, String argument, long value) {
        if (value <= 0) {
            throw new IllegalArgumentException("The " + argument + " of the cache of " + array
                    + " must be positive, not " + value);
        }
        return value;
    }

    static void check(KernelArray array, long places, long triggers) {
        if (places != 1) {
            throw new IllegalArgumentException("The cache of " + array + " needs exactly one of"
                    + " index, level and maximum of elements; it has "
                    + (places == 0 ? "none" : places));
        }
        if (triggers > 1) {
            throw new IllegalArgumentException("The cache of " + array
                    + " has a trigger index and a trigger level; at most one is possible");
        }
        if (triggers > 0 && !array.role().isReadOnly()) {
            throw notReadOnly(array, "trigger");
        }
    }

    static void checkLocations(
            KernelArray array,
            @Nullable MemoryLocation location,
            boolean isDoubleBuffered,
            @Nullable MemoryLocation doubleBufferLocation) {
        if (location == MemoryLocation.GLOBAL) {
            throw new IllegalArgumentException("The cache of " + array
                    + " cannot be in global memory, where the array is; use local or private");
        }
        if (location == MemoryLocation.CONSTANT && array.role() != ArrayRole.CONSTANT) {
            throw new IllegalArgumentException("Only an array with the role constant can be in"
                    + " constant memory; " + array + " has the role " + array.role());
        }
        if (isDoubleBuffered && !array.role().isReadOnly()) {
            throw notReadOnly(array, "double buffer");
        }
        if (doubleBufferLocation == null) {
            return;
        }
        if (!isDoubleBuffered) {
            throw new IllegalArgumentException("The cache of " + array
                    + " has a location of a double buffer, but no double buffer");
        }
        if (doubleBufferLocation != MemoryLocation.LOCAL
                && doubleBufferLocation != MemoryLocation.PRIVATE) {
            throw new IllegalArgumentException("The double buffer of the cache of " + array
                    + " can be in local or private memory, not in " + doubleBufferLocation);
        }
        if (doubleBufferLocation == MemoryLocation.LOCAL && location != MemoryLocation.LOCAL) {
            throw new IllegalArgumentException("The double buffer of the cache of " + array
                    + " cannot be in local memory, since the cache is not: each work-item has a"
                    + " cache of its own");
        }
    }

    private static IllegalArgumentException notReadOnly(KernelArray array, String argument) {
        return new IllegalArgumentException("Only an input or a constant can have a " + argument
                + ", since copies of one element would differ after a write; " + array
                + " has the role " + array.role());
    }
}
