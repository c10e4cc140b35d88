/*
 * Sum (modulo 2^32), smallest value, largest value and the first place of the largest, in two
 * launches. Both launches combine summaries: the first makes one for each element, the second reads
 * one for each group of the first.
 */
#ifndef GROUP
#error "Define how many work-items a group has, a power of two: -D GROUP=64"
#endif

typedef struct {
    int sum;
    int smallest;
    int largest;
    int place;
} summary;

static inline summary nothing(void)
{
    summary none = {0, INT_MAX, INT_MIN, INT_MAX};
    return none;
}

static inline summary combined(summary a, summary b)
{
    summary both;
    both.sum = (int) ((uint) a.sum + (uint) b.sum);
    both.smallest = min(a.smallest, b.smallest);
    both.largest = max(a.largest, b.largest);
    const int place_a = a.largest == both.largest ? a.place : INT_MAX;
    const int place_b = b.largest == both.largest ? b.place : INT_MAX;
    both.place = min(place_a, place_b);
    return both;
}

/* Combines the summaries of a group; the first work-item writes the result. */
static inline void reduce_group(summary mine, __local summary *scratch, __global summary *result)
{
    const uint item = get_local_id(0);
    scratch[item] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint width = GROUP / 2; width > 0; width /= 2) {
        if (item < width) {
            scratch[item] = combined(scratch[item], scratch[item + width]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) {
        *result = scratch[0];
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_elements(__global const int *values, const uint count, __global summary *groups)
{
    __local summary scratch[GROUP];
    summary mine = nothing();
    for (uint i = get_global_id(0); i < count; i += get_global_size(0)) {
        const summary one = {values[i], values[i], values[i], (int) i};
        mine = combined(mine, one);
    }
    reduce_group(mine, scratch, groups + get_group_id(0));
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_groups(__global const summary *groups, const uint count, __global summary *total)
{
    __local summary scratch[GROUP];
    summary mine = nothing();
    for (uint i = get_local_id(0); i < count; i += GROUP) {
        mine = combined(mine, groups[i]);
    }
    reduce_group(mine, scratch, total);
}
