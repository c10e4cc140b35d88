/*
 * A sparse matrix in compressed rows times a vector. Each group handles one row: its work-items
 * stride over the row's elements and add their shares, so that long and short rows both keep
 * neighbours in memory together.
 */
#include "group.clh"

__kernel void sparse_multiply(__global const uint *row_starts, __global const uint *columns, __global const float *values,
                              __global const float *vector, __global float *product, __local float *scratch)
{
    const uint row = get_group_id(0);
    float sum = SUM_NEUTRAL;
    for (uint i = row_starts[row] + get_local_id(0); i < row_starts[row + 1]; i += get_local_size(0)) {
        sum += values[i] * vector[columns[i]];
    }
    sum = group_sum(sum, scratch);
    if (get_local_id(0) == 0) {
        product[row] = sum;
    }
}
