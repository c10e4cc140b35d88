/* Subtracts the dark frame of the sensor. */
__kernel void dark(__global const float *in, __global float *out, int width, int height,
                   __global const float *frame) {
    int at = get_global_id(1) * width + get_global_id(0);
    out[at] = fmax(in[at] - frame[at], 0.0f);
}
