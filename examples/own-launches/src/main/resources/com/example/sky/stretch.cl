/* Maps an interval of brightness to 0 to 1. */
__kernel void stretch(__global const float *in, __global float *out, int width, int height,
                      float low, float high) {
    int at = get_global_id(1) * width + get_global_id(0);
    out[at] = clamp((in[at] - low) / (high - low), 0.0f, 1.0f);
}
