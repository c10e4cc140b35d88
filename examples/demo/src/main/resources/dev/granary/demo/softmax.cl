/*
 * The softmax of each row of a matrix, one group for each row; the row's maximum is subtracted
 * first, so that no exponential overflows.
 */
#include "group.clh"

__kernel void softmax(__global const float *rows, __global float *result, const uint columns, __local float *scratch)
{
    const uint item = get_local_id(0);
    const uint items = get_local_size(0);
    __global const float *row = rows + get_group_id(0) * columns;
    __global float *to = result + get_group_id(0) * columns;

    float largest = LARGER_NEUTRAL;
    for (uint i = item; i < columns; i += items) {
        largest = fmax(largest, row[i]);
    }
    largest = group_maximum(largest, scratch);

    float sum = SUM_NEUTRAL;
    for (uint i = item; i < columns; i += items) {
        const float power = exp(row[i] - largest);
        to[i] = power;
        sum += power;
    }
    sum = group_sum(sum, scratch);

    /* Each work-item reads only what it wrote itself: no barrier is needed for global memory. */
    for (uint i = item; i < columns; i += items) {
        to[i] /= sum;
    }
}
