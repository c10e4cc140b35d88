package dev.granary.gpu.opencl;

/**
 * A kernel argument that is a piece of local memory.
 *
 * @param bytes its size in bytes, per work-group
 */
public record LocalMemory(long bytes) {
    /**
     * Checks the size.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public LocalMemory {
        if (bytes <= 0) {
            throw new IllegalArgumentException("Local memory needs a positive size, not " + bytes);
        }
    }
}
