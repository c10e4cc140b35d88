/*
 * Transposes a matrix through a tile in local memory, so that reads and writes both run along rows.
 * A group has TILE x TILE / 2 work-items, each of which moves two elements; a row of the tile has
 * one unused element, so that a column hits different memory banks.
 */
#ifndef TILE
#error "Define how many rows and columns a tile has, an even number: -D TILE=16"
#endif
#define TILE_ROWS (TILE / 2)

__kernel __attribute__((reqd_work_group_size(TILE, TILE_ROWS, 1)))
void transpose(__global const float *matrix, __global float *transposed, const uint rows, const uint columns)
{
    __local float tile[TILE][TILE + 1];
    const uint tile_column = get_group_id(0) * TILE;
    const uint tile_row = get_group_id(1) * TILE;
    const uint x = get_local_id(0);

    for (uint y = get_local_id(1); y < TILE; y += TILE_ROWS) {
        if (tile_row + y < rows && tile_column + x < columns) {
            tile[y][x] = matrix[(tile_row + y) * columns + tile_column + x];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint y = get_local_id(1); y < TILE; y += TILE_ROWS) {
        if (tile_column + y < columns && tile_row + x < rows) {
            transposed[(tile_column + y) * rows + tile_row + x] = tile[x][y];
        }
    }
}
