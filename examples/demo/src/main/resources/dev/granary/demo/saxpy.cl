/*
 * y = a x + y over vectors with increments, as in BLAS level 1. Each work-item handles ITEMS
 * elements that lie one launch apart, so that neighbouring work-items touch neighbouring elements.
 */
#ifndef ITEMS
#error "Define how many elements one work-item handles: -D ITEMS=4"
#endif

__kernel void saxpy(const float a, __global const float *x, const uint x_step, __global float *y, const uint y_step, const uint count)
{
    const uint stride = get_global_size(0);
    uint i = get_global_id(0);
    for (uint item = 0; item < ITEMS; item++, i += stride) {
        if (i < count) {
            y[i * y_step] = a * x[i * x_step] + y[i * y_step];
        }
    }
}
