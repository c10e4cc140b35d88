/*
 * Packs a matrix of inner x columns in row order into panels of PANEL columns. A panel is
 * contiguous, row after row, with zeros beyond the edge of the matrix. A multiplication then reads
 * PANEL neighbours at once.
 */
#ifndef PANEL
#error "Define how many columns a panel has: -D PANEL=8"
#endif

__kernel void pack_weights(const uint columns, const uint inner, __global const float *weights, __global float *packed)
{
    const uint row = get_global_id(0);
    const uint panel = get_global_id(1);
    if (row >= inner) {
        return;
    }
    for (uint lane = 0; lane < PANEL; lane++) {
        const uint column = panel * PANEL + lane;
        packed[(panel * inner + row) * PANEL + lane] = column < columns ? weights[row * columns + column] : 0.0f;
    }
}
