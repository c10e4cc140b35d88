/*
 * The dot product in two launches: each group sums the products that it strides over, then one
 * group sums the partial sums.
 */
#include "group.clh"

__kernel void dot_partial(__global const float *left, __global const float *right, const uint count, __global float *partial,
                          __local float *scratch)
{
    float sum = SUM_NEUTRAL;
    for (uint i = get_global_id(0); i < count; i += get_global_size(0)) {
        sum += left[i] * right[i];
    }
    sum = group_sum(sum, scratch);
    if (get_local_id(0) == 0) {
        partial[get_group_id(0)] = sum;
    }
}

__kernel void dot_total(__global const float *partial, const uint count, __global float *total, __local float *scratch)
{
    const uint item = get_local_id(0);
    const float sum = group_sum(item < count ? partial[item] : SUM_NEUTRAL, scratch);
    if (item == 0) {
        total[0] = sum;
    }
}
