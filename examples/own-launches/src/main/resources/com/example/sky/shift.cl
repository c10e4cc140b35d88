/* Shift by a fraction of a pixel, bilinear; the edge is repeated. */
__kernel void shift(__global const float *in, __global float *out, int width, int height,
                    float dx, float dy) {
    int x = get_global_id(0), y = get_global_id(1);
    int right = min(x + 1, width - 1), below = min(y + 1, height - 1);
    float upper = in[y * width + x] * (1 - dx) + in[y * width + right] * dx;
    float lower = in[below * width + x] * (1 - dx) + in[below * width + right] * dx;
    out[y * width + x] = upper * (1 - dy) + lower * dy;
}
