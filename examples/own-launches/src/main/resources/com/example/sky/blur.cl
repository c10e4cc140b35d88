/* Binomial blur of 3 x 3 pixels; the edge is repeated. */
__kernel void blur(__global const float *in, __global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int at = clamp(y + dy, 0, height - 1) * width + clamp(x + dx, 0, width - 1);
            sum += (2 - dx * dx) * (2 - dy * dy) * in[at];
        }
    }
    out[y * width + x] = sum / 16.0f;
}
