package dev.granary.gpu;

/**
 * A kernel argument that allocates local memory.
 *
 * @param bytes the size in bytes per work-group
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
