/* Length of the gradient; the edge is repeated. */
__kernel void sobel(__global const float *in, __global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    float gx = 0.0f, gy = 0.0f;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int at = clamp(y + dy, 0, height - 1) * width + clamp(x + dx, 0, width - 1);
            gx += dx * (2 - dy * dy) * in[at];
            gy += dy * (2 - dx * dx) * in[at];
        }
    }
    out[y * width + x] = sqrt(gx * gx + gy * gy);
}
