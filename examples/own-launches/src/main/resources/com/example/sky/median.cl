/* Median of 3 x 3 pixels, which removes hot ones; the edge is repeated. */
__kernel void median(__global const float *in, __global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    float v[9];
    for (int i = 0; i < 9; i++) {
        int at = clamp(y + i / 3 - 1, 0, height - 1) * width + clamp(x + i % 3 - 1, 0, width - 1);
        float value = in[at];
        int j = i;
        for (; j > 0 && v[j - 1] > value; j--) {
            v[j] = v[j - 1];
        }
        v[j] = value;
    }
    out[y * width + x] = v[4];
}
