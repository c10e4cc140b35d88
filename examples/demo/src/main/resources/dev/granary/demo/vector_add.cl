/* Adds two vectors, one element for each work-item; the last group has idle work-items. */
__kernel void vector_add(__global const float *left, __global const float *right, __global float *sum, const uint count)
{
    const uint i = get_global_id(0);
    if (i < count) {
        sum[i] = left[i] + right[i];
    }
}
