/* Divides by the flat field, which has the sensitivity of each pixel. */
__kernel void flat(__global const float *in, __global float *out, int width, int height,
                   __global const float *field) {
    int at = get_global_id(1) * width + get_global_id(0);
    out[at] = in[at] / fmax(field[at], 0.1f);
}
