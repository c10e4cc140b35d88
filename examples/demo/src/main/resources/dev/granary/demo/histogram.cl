/*
 * Counts how often each byte value occurs. Each group counts into local memory with atomics and
 * writes its own histogram; a second launch adds the histograms, one bin for each work-item, and
 * needs no atomics.
 */
#ifndef BINS
#error "Define how many bins there are; values count modulo that: -D BINS=256"
#endif

__kernel void histogram_groups(__global const uchar *values, const uint count, __global uint *histograms)
{
    __local uint bins[BINS];
    const uint item = get_local_id(0);
    for (uint bin = item; bin < BINS; bin += get_local_size(0)) {
        bins[bin] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < count; i += get_global_size(0)) {
        atomic_inc(&bins[values[i] % BINS]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = item; bin < BINS; bin += get_local_size(0)) {
        histograms[get_group_id(0) * BINS + bin] = bins[bin];
    }
}

__kernel void histogram_merge(__global const uint *histograms, const uint groups, __global uint *histogram)
{
    const uint bin = get_global_id(0);
    if (bin < BINS) {
        uint sum = 0;
        for (uint group = 0; group < groups; group++) {
            sum += histograms[group * BINS + bin];
        }
        histogram[bin] = sum;
    }
}
