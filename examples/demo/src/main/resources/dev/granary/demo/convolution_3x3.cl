/*
 * Convolves an image with a 3 x 3 filter; outside the image the nearest pixel is used. Each group
 * loads its tile with a border of one pixel into local memory, work-items sharing the loads.
 */
#ifndef TILE_WIDTH
#error "Define the size of a group: -D TILE_WIDTH=16 -D TILE_HEIGHT=8"
#endif
#define LOADED_WIDTH (TILE_WIDTH + 2)
#define LOADED_HEIGHT (TILE_HEIGHT + 2)

__kernel __attribute__((reqd_work_group_size(TILE_WIDTH, TILE_HEIGHT, 1)))
void convolution(__global const float *image, __constant float *filter, __global float *result, const int width, const int height)
{
    __local float tile[LOADED_HEIGHT * LOADED_WIDTH];
    const int x = get_local_id(0);
    const int y = get_local_id(1);
    const int left = (int) get_group_id(0) * TILE_WIDTH - 1;
    const int top = (int) get_group_id(1) * TILE_HEIGHT - 1;

    for (int i = y * TILE_WIDTH + x; i < LOADED_HEIGHT * LOADED_WIDTH; i += TILE_WIDTH * TILE_HEIGHT) {
        const int from_x = clamp(left + i % LOADED_WIDTH, 0, width - 1);
        const int from_y = clamp(top + i / LOADED_WIDTH, 0, height - 1);
        tile[i] = image[from_y * width + from_x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int to_x = left + 1 + x;
    const int to_y = top + 1 + y;
    if (to_x < width && to_y < height) {
        float sum = 0.0f;
        for (int row = 0; row < 3; row++) {
            for (int column = 0; column < 3; column++) {
                /*
                 * A convolution rotates the filter by 180 degrees: its first element weighs the
                 * pixel at the lower right.
                 */
                sum += filter[8 - (row * 3 + column)] * tile[(y + row) * LOADED_WIDTH + x + column];
            }
        }
        result[to_y * width + to_x] = sum;
    }
}
