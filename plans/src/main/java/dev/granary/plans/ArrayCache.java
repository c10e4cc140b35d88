package dev.granary.plans;

import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopIndex;

import org.jspecify.annotations.Nullable;

import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * A local copy of the active block of an array, or of a part of another cache. The iterations
 * inside of the cache use the copy in place of the array.
 *
 * @param array the array that is cached at last
 * @param source the cache that is copied; null for the array itself
 * @param index the outermost loop inside of the cache
 * @param level the number of loops inside of the cache
 * @param maxElements the largest number of elements of the block
 * @param triggerIndex the loop before which all blocks are copied
 * @param triggerLevel the number of loops inside of that place
 * @param layout the order of the elements; null for the source's kind of order
 * @param elementType the type of the elements; null for the source's
 * @param isThrifty true if the copy is left out where it changes nothing
 * @param location the memory; null for none in particular
 * @param isDoubleBuffered true if the next block is fetched during the use of the current one
 * @param doubleBufferLocation the memory of the next block; null for the default
 * @param isVectorized true for copies by vectors
 * @param strategy the assignment of elements to work-items; null for the default
 */
public record ArrayCache(
        KernelArray array,
        @Nullable ArrayCache source,
        @Nullable LoopIndex index,
        @Nullable Integer level,
        @Nullable Long maxElements,
        @Nullable LoopIndex triggerIndex,
        @Nullable Integer triggerLevel,
        @Nullable ArrayLayout layout,
        @Nullable ElementType elementType,
        boolean isThrifty,
        @Nullable MemoryLocation location,
        boolean isDoubleBuffered,
        @Nullable MemoryLocation doubleBufferLocation,
        boolean isVectorized,
        @Nullable CopyStrategy strategy) {
    /**
     * Checks the arguments by themselves; {@link KernelPlan#cache} checks them against its loops.
     *
     * @throws IllegalArgumentException if they exclude each other, or do not suit the array's role
     */
    public ArrayCache {
        requirePositive(array, "level", level);
        requirePositive(array, "maximum of elements", maxElements);
        requirePositive(array, "trigger level", triggerLevel);
        String name = "The cache of " + array;
        long places =
                Stream.of(index, level, maxElements).filter(Objects::nonNull).count();
        require(
                places == 1,
                name + " needs exactly one of index, level and maximum of elements; it has "
                        + (places == 0 ? "none" : places));
        require(
                triggerIndex == null || triggerLevel == null,
                name + " has a trigger index and a trigger level; at most one is possible");
        boolean hasTrigger = triggerIndex != null || triggerLevel != null;
        requireReadOnly(array, "trigger", hasTrigger);
        require(
                location != MemoryLocation.GLOBAL,
                name + " cannot be in global memory, where the array is; use local or private");
        require(
                location != MemoryLocation.CONSTANT || array.role() == ArrayRole.CONSTANT,
                "Only an array with the role constant can be in constant memory; " + array
                        + " has the role " + array.role());
        requireReadOnly(array, "double buffer", isDoubleBuffered);
        require(
                doubleBufferLocation == null || isDoubleBuffered,
                name + " has a location of a double buffer, but no double buffer");
        require(
                doubleBufferLocation == null
                        || doubleBufferLocation == MemoryLocation.LOCAL
                        || doubleBufferLocation == MemoryLocation.PRIVATE,
                "The double buffer of the cache of " + array
                        + " can be in local or private memory, not in " + doubleBufferLocation);
        require(
                doubleBufferLocation != MemoryLocation.LOCAL || location == MemoryLocation.LOCAL,
                "The double buffer of the cache of " + array + " cannot be in local memory, since"
                        + " the cache is not: each work-item has a cache of its own");
        require(
                level == null || triggerLevel == null || triggerLevel >= level,
                name + " has the trigger level " + triggerLevel + " inside of its level " + level
                        + "; the trigger level must be at least the level");
        boolean isPlain = source == null
                && layout == null
                && elementType == null
                && !isDoubleBuffered
                && !isVectorized
                && strategy == null
                && !hasTrigger;
        require(
                location != MemoryLocation.CONSTANT || isPlain,
                name + " in constant memory is the array itself: it has no source cache, trigger,"
                        + " layout, element type, double buffer, vectors or strategy");
    }

    private static void require(boolean isKept, String rule) {
        if (!isKept) {
            throw new IllegalArgumentException(rule);
        }
    }

    private static void requirePositive(
            KernelArray array, String argument, @Nullable Number value) {
        require(
                value == null || value.longValue() > 0,
                "The " + argument + " of the cache of " + array + " must be positive, not "
                        + value);
    }

    private static void requireReadOnly(KernelArray array, String argument, boolean isGiven) {
        require(
                !isGiven || array.role().isReadOnly(),
                "Only an input or a constant can have a " + argument + ", since copies of one"
                        + " element would differ after a write; " + array + " has the role "
                        + array.role());
    }

    /** Returns a builder of a cache of an array. */
    public static Builder of(KernelArray array) {
        return new Builder(array, null);
    }

    /** Returns a builder of a cache of a part of another cache. */
    public static Builder of(ArrayCache source) {
        return new Builder(source.array, source);
    }

    /** Returns the name of the source for messages. */
    String sourceName() {
        return source == null ? array.name() : "the cache of " + source.sourceName();
    }

    /** A builder of a cache. One of {@code index}, {@code level} and {@code maxElements} is due. */
    public static final class Builder {
        private final KernelArray array;
        private final @Nullable ArrayCache source;
        private @Nullable LoopIndex index;
        private @Nullable Integer level;
        private @Nullable Long maxElements;
        private @Nullable LoopIndex triggerIndex;
        private @Nullable Integer triggerLevel;
        private @Nullable ArrayLayout layout;
        private @Nullable ElementType elementType;
        private boolean isThrifty = true;
        private @Nullable MemoryLocation location;
        private boolean isDoubleBuffered;
        private @Nullable MemoryLocation doubleBufferLocation;
        private boolean isVectorized;
        private @Nullable CopyStrategy strategy;

        private Builder(KernelArray array, @Nullable ArrayCache source) {
            this.array = array;
            this.source = source;
        }

        /** Caches the block of the loops from {@code value} inward. */
        public Builder index(LoopIndex value) {
            index = value;
            return this;
        }

        /** Caches the block of the innermost loops, as many as {@code value}. */
        public Builder level(int value) {
            level = value;
            return this;
        }

        /** Caches the largest block that does not exceed that number of elements. */
        public Builder maxElements(long value) {
            maxElements = value;
            return this;
        }

        /** Copies all blocks at once before the loop {@code value}. */
        public Builder triggerIndex(LoopIndex value) {
            triggerIndex = value;
            return this;
        }

        /** Copies all blocks at once before the innermost loops, as many as {@code value}. */
        public Builder triggerLevel(int value) {
            triggerLevel = value;
            return this;
        }

        /** Sets the order of the elements; default: first or last major as the source. */
        public Builder layout(ArrayLayout value) {
            layout = value;
            return this;
        }

        /** Sets the type of the elements; they are converted when copied. Default: the source's. */
        public Builder elementType(ElementType value) {
            elementType = value;
            return this;
        }

        /** Copies also where the block is contiguous already. */
        public Builder notThrifty() {
            isThrifty = false;
            return this;
        }

        /**
         * Sets the memory. Default: private memory, or the source itself where a copy would change
         * nothing.
         */
        public Builder location(MemoryLocation value) {
            location = value;
            return this;
        }

        /**
         * Fetches the next block during the use of the current one. No effect if there is no loop
         * outside of the trigger.
         */
        public Builder doubleBuffered() {
            isDoubleBuffered = true;
            return this;
        }

        /** Sets the memory of the next block; default: private memory. */
        public Builder doubleBufferLocation(MemoryLocation value) {
            doubleBufferLocation = value;
            return this;
        }

        /**
         * Copies by vectors where the strategy is blocked, elements are neighbours on both sides,
         * and each work-item copies whole vectors.
         */
        public Builder vectorized() {
            isVectorized = true;
            return this;
        }

        /** Sets the assignment of elements to work-items; default: striped. */
        public Builder strategy(CopyStrategy value) {
            strategy = value;
            return this;
        }

        /**
         * Returns the cache.
         *
         * @throws IllegalArgumentException as {@link ArrayCache} does
         */
        public ArrayCache build() {
            return new ArrayCache(
                    array,
                    source,
                    index,
                    level,
                    maxElements,
                    triggerIndex,
                    triggerLevel,
                    layout,
                    elementType,
                    isThrifty,
                    location,
                    isDoubleBuffered,
                    doubleBufferLocation,
                    isVectorized,
                    strategy);
        }
    }

    /**
     * The assignment of elements to work-items when a work-group copies a block to local memory.
     */
    public enum CopyStrategy {
        /** Work-item t copies the elements t, t + n, t + 2n, ... of n work-items. */
        STRIPED,
        /** Each work-item copies consecutive elements. */
        BLOCKED;

        /** Returns the name as plan files have it, such as {@code striped}. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** A memory of a device that a cache may be in. */
    public enum MemoryLocation {
        /** The memory of the arrays; no cache is there. */
        GLOBAL,
        /** Memory that all work-items read; for arrays with the role of a constant. */
        CONSTANT,
        /** Memory of a work-group, which its work-items share. */
        LOCAL,
        /** Memory of one work-item: registers, if they suffice. */
        PRIVATE;

        /** Returns the name as plan files have it, such as {@code local}. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
