/*
 * Bodies that attract each other: accelerations by direct summation over tiles of bodies in local
 * memory, then one kick and one drift of the leapfrog scheme. Distances are softened, so that a
 * body's pull on itself is zero and needs no exception. A body is (x, y, z, mass).
 */
#ifndef GROUP
#error "Define how many work-items a group has: -D GROUP=64"
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void accelerate(__global const float4 *bodies, __global float4 *accelerations, const uint count, const float softening)
{
    __local float4 tile[GROUP];
    const uint i = get_global_id(0);
    const float4 me = i < count ? bodies[i] : (float4) (0.0f);
    float3 pull = (float3) (0.0f);
    for (uint first = 0; first < count; first += GROUP) {
        const uint j = first + get_local_id(0);
        tile[get_local_id(0)] = j < count ? bodies[j] : (float4) (0.0f); /* no mass beyond the end */
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint other = 0; other < GROUP; other++) {
            const float3 away = tile[other].xyz - me.xyz;
            const float inverse = rsqrt(dot(away, away) + softening * softening);
            pull += tile[other].w * inverse * inverse * inverse * away;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < count) {
        accelerations[i] = (float4) (pull, 0.0f);
    }
}

__kernel void move(__global float4 *bodies, __global float4 *velocities, __global const float4 *accelerations, const uint count,
                   const float time_step)
{
    const uint i = get_global_id(0);
    if (i < count) {
        const float4 velocity = velocities[i] + time_step * accelerations[i];
        velocities[i] = velocity;
        bodies[i] = (float4) (bodies[i].xyz + time_step * velocity.xyz, bodies[i].w);
    }
}
