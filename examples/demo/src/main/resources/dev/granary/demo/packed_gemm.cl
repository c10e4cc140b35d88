/*
 * Y = X W + bias, with W packed into panels of eight columns; with RELU, negative results become
 * zero. Each work-item computes eight neighbours of one row.
 */
__kernel void packed_gemm(const uint rows, const uint columns, const uint inner, __global const float *x, __global const float *packed,
                          __global const float *bias, __global float *y)
{
    const uint panel = get_global_id(0);
    const uint row = get_global_id(1);
    if (row >= rows) {
        return;
    }
    float8 sum = (float8)(0.0f);
    for (uint i = 0; i < inner; i++) {
        sum += x[row * inner + i] * vload8(panel * inner + i, packed);
    }
    float lanes[8];
    vstore8(sum, 0, lanes);
    for (uint lane = 0; lane < 8 && panel * 8 + lane < columns; lane++) {
        const uint column = panel * 8 + lane;
        const float value = lanes[lane] + bias[column];
#ifdef RELU
        y[row * columns + column] = fmax(value, 0.0f);
#else
        y[row * columns + column] = value;
#endif
    }
}
