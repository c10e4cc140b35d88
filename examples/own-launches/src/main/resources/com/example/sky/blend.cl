/* Mean of two images by weight. */
__kernel void blend(__global const float *in, __global float *out, int width, int height,
                    __global const float *other, float weight) {
    int at = get_global_id(1) * width + get_global_id(0);
    out[at] = in[at] * (1.0f - weight) + other[at] * weight;
}
