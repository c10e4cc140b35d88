/*
 * Layer normalisation: each row minus its mean, divided by its standard deviation, then scaled and
 * shifted per column. One group for each row; the variance comes from a second pass over the
 * differences, which does not cancel as a difference of squares would.
 */
#include "group.clh"

__kernel void layer_norm(__global const float *rows, __global const float *scale, __global const float *shift, __global float *result,
                         __global float *means, __global float *deviations, const uint columns, const float epsilon,
                         __local float *scratch)
{
    const uint item = get_local_id(0);
    const uint items = get_local_size(0);
    const uint row = get_group_id(0);
    __global const float *from = rows + row * columns;
    __global float *to = result + row * columns;

    float sum = SUM_NEUTRAL;
    for (uint i = item; i < columns; i += items) {
        sum += from[i];
    }
    const float mean = group_sum(sum, scratch) / columns;

    float squares = SUM_NEUTRAL;
    for (uint i = item; i < columns; i += items) {
        const float difference = from[i] - mean;
        squares += difference * difference;
    }
    const float deviation = sqrt(group_sum(squares, scratch) / columns + epsilon);

    for (uint i = item; i < columns; i += items) {
        to[i] = (from[i] - mean) / deviation * scale[i] + shift[i];
    }
    if (item == 0) {
        means[row] = mean;
        deviations[row] = deviation;
    }
}
