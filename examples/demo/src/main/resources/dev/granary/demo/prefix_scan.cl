/*
 * Exclusive prefix sums modulo 2^32 by Blelloch's two sweeps. Each group scans a block of 2 GROUP
 * elements and leaves the block's sum; one group scans the sums; a third launch adds the sum of all
 * preceding blocks to each block.
 */
#ifndef GROUP
#error "Define how many work-items a group has, a power of two: -D GROUP=128"
#endif
#define BLOCK (2 * GROUP)

/* Scans a block in local memory and returns its sum to each work-item. */
static inline uint scan_block(__local uint *block)
{
    const uint item = get_local_id(0);

    /* Up: each node of the tree gets the sum of its leaves. */
    uint distance = 1;
    for (uint nodes = GROUP; nodes > 0; nodes /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < nodes) {
            const uint right = 2 * distance * (item + 1) - 1;
            block[right] += block[right - distance];
        }
        distance *= 2;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum = block[BLOCK - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        block[BLOCK - 1] = 0;
    }

    /*
     * Down: the left child gets the prefix of its parent, the right child that plus the left
     * child's sum.
     */
    for (uint nodes = 1; nodes <= GROUP; nodes *= 2) {
        distance /= 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < nodes) {
            const uint right = 2 * distance * (item + 1) - 1;
            const uint left = right - distance;
            const uint before = block[right];
            block[right] = before + block[left];
            block[left] = before;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

/* One block of `count` elements, read from `from` and written to `to`; both may be the same. */
static inline uint scan_stored(__global const uint *from, __global uint *to, uint first, uint count, __local uint *block)
{
    const uint item = get_local_id(0);
    const uint near = first + item;
    const uint far = near + GROUP;
    block[item] = near < count ? from[near] : 0;
    block[item + GROUP] = far < count ? from[far] : 0;
    const uint sum = scan_block(block);
    if (near < count) {
        to[near] = block[item];
    }
    if (far < count) {
        to[far] = block[item + GROUP];
    }
    return sum;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_blocks(__global const uint *values, __global uint *scanned, __global uint *sums, const uint count)
{
    __local uint block[BLOCK];
    const uint group = get_group_id(0);
    const uint sum = scan_stored(values, scanned, group * BLOCK, count, block);
    if (get_local_id(0) == 0) {
        sums[group] = sum;
    }
}

/* For at most BLOCK sums. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_sums(__global uint *sums, const uint count)
{
    __local uint block[BLOCK];
    scan_stored(sums, sums, 0, count, block);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void add_offsets(__global uint *scanned, __global const uint *sums, const uint count)
{
    const uint before = sums[get_group_id(0)];
    const uint near = get_group_id(0) * BLOCK + get_local_id(0);
    const uint far = near + GROUP;
    if (near < count) {
        scanned[near] += before;
    }
    if (far < count) {
        scanned[far] += before;
    }
}
