package dev.granary.gpu.levelzero.binding;

/**
 * A number of work-items or work-groups in each of three dimensions; unsigned 32-bit numbers.
 *
 * @param x first dimension
 * @param y second dimension; 1 if there is none
 * @param z third dimension; 1 if there is none
 */
public record GroupShape(int x, int y, int z) {}
