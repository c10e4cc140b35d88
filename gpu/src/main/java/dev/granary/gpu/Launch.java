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
