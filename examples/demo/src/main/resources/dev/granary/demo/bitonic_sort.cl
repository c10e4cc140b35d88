/*
 * Sorts integers by Batcher's bitonic network. A group of GROUP work-items owns a block of 2 GROUP
 * elements: all steps whose partners lie in one block run in local memory, the others in one launch
 * each. The number of elements must be a power of two and at least one block; `pad` fills a shorter
 * array with the largest value.
 */
#ifndef GROUP
#error "Define how many work-items a group has, a power of two: -D GROUP=128"
#endif
#define BLOCK (2 * GROUP)

__kernel void pad(__global int *values, const uint count)
{
    if (get_global_id(0) >= count) {
        values[get_global_id(0)] = INT_MAX;
    }
}

/* The lower of the two places that work-item `item` compares at that distance. */
static inline uint lower_place(uint item, uint distance)
{
    return 2 * item - (item & (distance - 1));
}

/*
 * One step inside a block; places are counted from the block's start, the direction from the
 * array's.
 */
static inline void step_in_block(__local int *block, uint first, uint sorted, uint distance)
{
    const uint low = lower_place(get_local_id(0), distance);
    const uint high = low + distance;
    const bool ascending = ((first + low) & sorted) == 0;
    const int a = block[low];
    const int b = block[high];
    if ((a > b) == ascending) {
        block[low] = b;
        block[high] = a;
    }
}

static inline void load_block(__global const int *values, uint first, __local int *block)
{
    block[get_local_id(0)] = values[first + get_local_id(0)];
    block[get_local_id(0) + GROUP] = values[first + get_local_id(0) + GROUP];
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline void store_block(__global int *values, uint first, __local const int *block)
{
    values[first + get_local_id(0)] = block[get_local_id(0)];
    values[first + get_local_id(0) + GROUP] = block[get_local_id(0) + GROUP];
}

/* Sorts each block, blocks in turn ascending and descending. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_blocks(__global int *values)
{
    __local int block[BLOCK];
    const uint first = get_group_id(0) * BLOCK;
    load_block(values, first, block);
    for (uint sorted = 2; sorted <= BLOCK; sorted *= 2) {
        for (uint distance = sorted / 2; distance > 0; distance /= 2) {
            step_in_block(block, first, sorted, distance);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    store_block(values, first, block);
}

/* One step whose partners lie in different blocks. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void merge_step(__global int *values, const uint sorted, const uint distance)
{
    const uint low = lower_place(get_global_id(0), distance);
    const uint high = low + distance;
    const bool ascending = (low & sorted) == 0;
    const int a = values[low];
    const int b = values[high];
    if ((a > b) == ascending) {
        values[low] = b;
        values[high] = a;
    }
}

/* All remaining steps of one merge, from the distance of half a block down. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void merge_blocks(__global int *values, const uint sorted)
{
    __local int block[BLOCK];
    const uint first = get_group_id(0) * BLOCK;
    load_block(values, first, block);
    for (uint distance = GROUP; distance > 0; distance /= 2) {
        step_in_block(block, first, sorted, distance);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    store_block(values, first, block);
}
