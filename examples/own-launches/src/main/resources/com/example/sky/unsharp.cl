/* Sharpens by the difference to a blurred image. */
__kernel void unsharp(__global const float *in, __global float *out, int width, int height,
                      __global const float *blurred, float amount) {
    int at = get_global_id(1) * width + get_global_id(0);
    out[at] = in[at] + amount * (in[at] - blurred[at]);
}
