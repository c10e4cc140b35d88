package dev.granary.gpu.composite;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The memory layout of an operand: element type, dimensions and strides. It is part of a key if an
 * implementation was chosen or generated for it.
 *
 * @param type the element type
 * @param dimensions elements in each dimension, the outermost first
 * @param strides distance between neighbors in each dimension, in elements
 */
public record MemoryDescriptor(DataType type, List<Long> dimensions, List<Long> strides) {
    /** The element type. */
    public enum DataType {
        /** 32-bit floating point. */
        F32(4),
        /** 16-bit floating point. */
        F16(2),
        /** 32-bit integer. */
        S32(4),
        /** 8-bit integer. */
        S8(1),
        /** 8-bit unsigned integer. */
        U8(1);

        private final int bytes;

        DataType(int bytes) {
            this.bytes = bytes;
        }

        /** Returns the size of an element in bytes. */
        public int bytes() {
            return bytes;
        }
    }

    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if a dimension or stride is not positive, or their numbers
     *     differ
     */
    public MemoryDescriptor {
        dimensions = List.copyOf(dimensions);
        strides = List.copyOf(strides);
        if (dimensions.isEmpty() || dimensions.size() != strides.size()) {
            throw new IllegalArgumentException("Memory has a stride for each dimension, not "
                    + strides + " for " + dimensions);
        }
        for (List<Long> sizes : List.of(dimensions, strides)) {
            if (sizes.stream().anyMatch(size -> size <= 0)) {
                throw new IllegalArgumentException(
                        "Dimensions and strides of memory are positive: " + sizes);
            }
        }
    }

    /** Returns a layout without gaps whose last dimension is contiguous. */
    public static MemoryDescriptor rowMajor(DataType type, long... dimensions) {
        List<Long> strides = new ArrayList<>();
        long stride = 1;
        for (int i = dimensions.length - 1; i >= 0; i--) {
            strides.addFirst(stride);
            stride = Math.multiplyExact(stride, dimensions[i]);
        }
        return new MemoryDescriptor(type, Arrays.stream(dimensions).boxed().toList(), strides);
    }

    /** Returns the size in bytes, from the first element to the last. */
    public long bytes() {
        long last = 0;
        for (int i = 0; i < dimensions.size(); i++) {
            last = Math.addExact(last, Math.multiplyExact(dimensions.get(i) - 1, strides.get(i)));
        }
        return Math.multiplyExact(last + 1, type.bytes());
    }
}
