/* Mirrors the rows. */
__kernel void mirror(__global const float *in, __global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * width + x] = in[y * width + width - 1 - x];
}
