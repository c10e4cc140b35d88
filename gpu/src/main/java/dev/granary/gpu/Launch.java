package dev.granary.gpu;

/**
 * A launch that a descriptor announces.
 *
 * @param kernel the kernel's name; {@link #EVERY_KERNEL} for all of the program
 * @param geometry its size
 */
public record Launch(String kernel, Geometry geometry) implements Comparable<Launch> {
    /** Stands for all kernels of the program. */
    public static final String EVERY_KERNEL = "*";

    /**
     * Checks the name.
     *
     * @throws IllegalArgumentException if it is blank
     */
    public Launch {
        if (kernel.isBlank()) {
            throw new IllegalArgumentException("A launch needs the name of its kernel, or " + EVERY_KERNEL + " for all");
        }
    }

    /** Such as {@code gemm@256x256/16x16}. */
    @Override
    public String toString() {
        return kernel + "@" + geometry;
    }

    /** By text: an order for keys and tables, no other meaning. */
    @Override
    public int compareTo(Launch other) {
        return toString().compareTo(other.toString());
    }
}
