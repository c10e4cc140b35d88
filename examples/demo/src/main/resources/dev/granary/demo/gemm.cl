/*
 * C = alpha A B + beta C for matrices in row order: A of rows x inner, B of inner x columns. Each
 * group computes a tile of TILE x TILE elements and walks along the inner dimension in steps of one
 * tile, which it keeps in local memory. Tiles over the edge read zeros.
 */
#ifndef TILE
#error "Define how many rows and columns a tile has: -D TILE=16"
#endif

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(const uint rows, const uint columns, const uint inner, const float alpha, __global const float *a, __global const float *b,
          const float beta, __global float *c)
{
    __local float a_tile[TILE][TILE];
    __local float b_tile[TILE][TILE];
    const uint x = get_local_id(0);
    const uint y = get_local_id(1);
    const uint column = get_group_id(0) * TILE + x;
    const uint row = get_group_id(1) * TILE + y;

    float sum = 0.0f;
    for (uint step = 0; step < inner; step += TILE) {
        a_tile[y][x] = row < rows && step + x < inner ? a[row * inner + step + x] : 0.0f;
        b_tile[y][x] = step + y < inner && column < columns ? b[(step + y) * columns + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < TILE; i++) {
            sum += a_tile[y][i] * b_tile[i][x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < rows && column < columns) {
        c[row * columns + column] = alpha * sum + beta * c[row * columns + column];
    }
}
