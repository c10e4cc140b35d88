/*
 * Flow in two dimensions by the lattice Boltzmann method with nine velocities (D2Q9).
 *
 * A step of the flow is a collision in place, then streaming from one array of populations to another, then the open boundaries. There
 * are four collisions to choose from and two ways of streaming:
 *
 *   collide_bgk           one relaxation rate, with a body force (Bhatnagar, Gross, Krook; forcing after Guo, Zheng, Shi)
 *   collide_trt           two relaxation rates: walls stay in place whatever the viscosity (Ginzburg)
 *   collide_mrt           nine moments with rates of their own (Lallemand, Luo)
 *   collide_smagorinsky   one rate that grows with the local strain: a large-eddy model
 *   stream_periodic       what leaves on one side enters on the other
 *   stream_walls          half-way bounce-back at solid cells, moving walls, free-slip walls
 *   inlet_velocity        a velocity prescribed at the left edge (Zou, He)
 *   outlet_pressure       a density prescribed at the right edge (Zou, He)
 *   outlet_copy           no gradient at the right edge
 *
 * Lattice units: a cell is one long, a step lasts one, the speed of sound is the root of a third. The population that moves along
 * velocity q is at [q * cells + y * width + x]. Cells beyond the domain's edge exist in a launch only, never in memory.
 *
 * Velocities:   6 2 5
 *               3 0 1
 *               7 4 8
 */
#ifndef GROUP
#error "Define how many work-items a group of the sums has, a power of two: -D GROUP=64"
#endif

#define VELOCITIES 9

__constant int VELOCITY_X[VELOCITIES] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant int VELOCITY_Y[VELOCITIES] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant int OPPOSITE[VELOCITIES] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
/* The velocity with its y reversed. */
__constant int MIRRORED[VELOCITIES] = {0, 1, 4, 3, 2, 8, 7, 6, 5};
__constant float WEIGHT[VELOCITIES] = {
    4.0f / 9.0f,
    1.0f / 9.0f, 1.0f / 9.0f, 1.0f / 9.0f, 1.0f / 9.0f,
    1.0f / 36.0f, 1.0f / 36.0f, 1.0f / 36.0f, 1.0f / 36.0f,
};

/* The kinds of cells. All but FLUID are walls. */
enum { FLUID = 0, WALL = 1, MOVING_WALL = 2, SLIP_WALL = 3, OBSTACLE = 4 };

/* Density and momentum of one cell. */
typedef struct {
    float density;
    float x;
    float y;
} flow;

/* ---- populations of one cell ---- */

static inline void load_cell(__global const float *f, int cell, int cells, __private float *p)
{
    for (int q = 0; q < VELOCITIES; q++) {
        p[q] = f[q * cells + cell];
    }
}

static inline void store_cell(__global float *f, int cell, int cells, __private const float *p)
{
    for (int q = 0; q < VELOCITIES; q++) {
        f[q * cells + cell] = p[q];
    }
}

static inline flow flow_of(__private const float *p)
{
    flow sum;
    sum.density = p[0] + p[1] + p[2] + p[3] + p[4] + p[5] + p[6] + p[7] + p[8];
    sum.x = p[1] - p[3] + p[5] - p[6] - p[7] + p[8];
    sum.y = p[2] - p[4] + p[5] + p[6] - p[7] - p[8];
    return sum;
}

/* The population along q of a fluid in equilibrium, to second order in its velocity (ux, uy). */
static inline float equilibrium(int q, float density, float ux, float uy)
{
    const float along = VELOCITY_X[q] * ux + VELOCITY_Y[q] * uy;
    return WEIGHT[q] * density * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * (ux * ux + uy * uy));
}

/* ---- the domain ---- */

/*
 * Marks the cells of a channel: `lower` and `upper` are the kinds of its first and last row, and a
 * disc of that radius around (disc_x, disc_y) is an obstacle. A radius of zero or less leaves the
 * channel empty. `closed` puts walls on the left and right too.
 */
__kernel void mark_cells(__global int *kinds, const int width, const int height, const int lower, const int upper, const int closed,
                         const float disc_x, const float disc_y, const float radius)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height) {
        return;
    }
    int kind = FLUID;
    const float dx = x - disc_x;
    const float dy = y - disc_y;
    if (radius > 0.0f && dx * dx + dy * dy <= radius * radius) {
        kind = OBSTACLE;
    }
    if (closed && (x == 0 || x == width - 1)) {
        kind = WALL;
    }
    if (y == 0 && lower != FLUID) {
        kind = lower;
    }
    if (y == height - 1 && upper != FLUID) {
        kind = upper;
    }
    kinds[y * width + x] = kind;
}

/* Fills all cells, walls too, with the equilibrium of the density and velocity given for each. */
__kernel void initialise(__global float *f, __global const float *density, __global const float *velocity_x,
                         __global const float *velocity_y, const int width, const int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height) {
        return;
    }
    const int cell = y * width + x;
    const int cells = width * height;
    for (int q = 0; q < VELOCITIES; q++) {
        f[q * cells + cell] = equilibrium(q, density[cell], velocity_x[cell], velocity_y[cell]);
    }
}

/* ---- collisions: each works on fluid cells in place ---- */

/*
 * The force acts for half a step before and half a step after the collision, which keeps the scheme
 * of second order in time.
 */
__kernel void collide_bgk(__global float *f, __global const int *kinds, const int width, const int height, const float omega,
                          const float force_x, const float force_y)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height || kinds[y * width + x] != FLUID) {
        return;
    }
    const int cell = y * width + x;
    const int cells = width * height;
    float p[VELOCITIES];
    load_cell(f, cell, cells, p);
    const flow sum = flow_of(p);
    const float ux = (sum.x + 0.5f * force_x) / sum.density;
    const float uy = (sum.y + 0.5f * force_y) / sum.density;
    for (int q = 0; q < VELOCITIES; q++) {
        const float cx = VELOCITY_X[q];
        const float cy = VELOCITY_Y[q];
        const float along = cx * ux + cy * uy;
        const float pushed_x = 3.0f * (cx - ux) + 9.0f * along * cx;
        const float pushed_y = 3.0f * (cy - uy) + 9.0f * along * cy;
        const float source = WEIGHT[q] * (1.0f - 0.5f * omega) * (pushed_x * force_x + pushed_y * force_y);
        p[q] += omega * (equilibrium(q, sum.density, ux, uy) - p[q]) + source;
    }
    store_cell(f, cell, cells, p);
}

/*
 * Opposite populations are split into an even and an odd part. The even part relaxes with
 * omega_even, which is the viscosity; the rate of the odd part follows from `magic`, the product
 * that decides where a bounce-back wall stands.
 */
__kernel void collide_trt(__global float *f, __global const int *kinds, const int width, const int height, const float omega_even,
                          const float magic)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height || kinds[y * width + x] != FLUID) {
        return;
    }
    const int cell = y * width + x;
    const int cells = width * height;
    const float omega_odd = 1.0f / (0.5f + magic / (1.0f / omega_even - 0.5f));
    float p[VELOCITIES];
    load_cell(f, cell, cells, p);
    const flow sum = flow_of(p);
    const float ux = sum.x / sum.density;
    const float uy = sum.y / sum.density;

    p[0] += omega_even * (equilibrium(0, sum.density, ux, uy) - p[0]);
    for (int q = 1; q < VELOCITIES; q++) {
        const int back = OPPOSITE[q];
        if (back < q) {
            continue; /* this pair is done */
        }
        const float there = equilibrium(q, sum.density, ux, uy);
        const float here = equilibrium(back, sum.density, ux, uy);
        const float even = 0.5f * omega_even * (there + here - p[q] - p[back]);
        const float odd = 0.5f * omega_odd * (there - here - p[q] + p[back]);
        p[q] += even + odd;
        p[back] += even - odd;
    }
    store_cell(f, cell, cells, p);
}

/*
 * The populations are turned into moments (density, energy and its square, momentum and heat flux
 * in x and y, two stresses), those that are not conserved relax with rates of their own, and the
 * change is turned back. The rows of the transformation are orthogonal: the way back is the
 * transposed matrix with each row divided by its squared length.
 */
__kernel void collide_mrt(__global float *f, __global const int *kinds, const int width, const int height, const float rate_energy,
                          const float rate_energy_square, const float rate_flux, const float rate_stress)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height || kinds[y * width + x] != FLUID) {
        return;
    }
    const int cell = y * width + x;
    const int cells = width * height;
    float p[VELOCITIES];
    load_cell(f, cell, cells, p);
    const flow sum = flow_of(p);

    const float axes = p[1] + p[2] + p[3] + p[4];
    const float corners = p[5] + p[6] + p[7] + p[8];
    const float energy = -4.0f * p[0] - axes + 2.0f * corners;
    const float energy_square = 4.0f * p[0] - 2.0f * axes + corners;
    const float flux_x = -2.0f * (p[1] - p[3]) + p[5] - p[6] - p[7] + p[8];
    const float flux_y = -2.0f * (p[2] - p[4]) + p[5] + p[6] - p[7] - p[8];
    const float stress_xx = p[1] - p[2] + p[3] - p[4];
    const float stress_xy = p[5] - p[6] + p[7] - p[8];

    const float square = (sum.x * sum.x + sum.y * sum.y) / sum.density;
    const float change_energy = rate_energy * (-2.0f * sum.density + 3.0f * square - energy) / 36.0f;
    const float change_square = rate_energy_square * (sum.density - 3.0f * square - energy_square) / 36.0f;
    const float change_flux_x = rate_flux * (-sum.x - flux_x) / 12.0f;
    const float change_flux_y = rate_flux * (-sum.y - flux_y) / 12.0f;
    const float change_xx = rate_stress * ((sum.x * sum.x - sum.y * sum.y) / sum.density - stress_xx) / 4.0f;
    const float change_xy = rate_stress * (sum.x * sum.y / sum.density - stress_xy) / 4.0f;

    const float on_axis = -change_energy - 2.0f * change_square;
    const float on_corner = 2.0f * change_energy + change_square;
    p[0] += -4.0f * change_energy + 4.0f * change_square;
    p[1] += on_axis - 2.0f * change_flux_x + change_xx;
    p[2] += on_axis - 2.0f * change_flux_y - change_xx;
    p[3] += on_axis + 2.0f * change_flux_x + change_xx;
    p[4] += on_axis + 2.0f * change_flux_y - change_xx;
    p[5] += on_corner + change_flux_x + change_flux_y + change_xy;
    p[6] += on_corner - change_flux_x + change_flux_y - change_xy;
    p[7] += on_corner - change_flux_x - change_flux_y + change_xy;
    p[8] += on_corner + change_flux_x - change_flux_y - change_xy;
    store_cell(f, cell, cells, p);
}

/*
 * The strain follows from the part of the stress that is not in equilibrium: no neighbour is
 * needed.
 */
__kernel void collide_smagorinsky(__global float *f, __global const int *kinds, const int width, const int height, const float omega,
                                  const float constant_square)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height || kinds[y * width + x] != FLUID) {
        return;
    }
    const int cell = y * width + x;
    const int cells = width * height;
    float p[VELOCITIES];
    load_cell(f, cell, cells, p);
    const flow sum = flow_of(p);
    const float ux = sum.x / sum.density;
    const float uy = sum.y / sum.density;

    float away[VELOCITIES];
    float stress_xx = 0.0f;
    float stress_yy = 0.0f;
    float stress_xy = 0.0f;
    for (int q = 0; q < VELOCITIES; q++) {
        away[q] = p[q] - equilibrium(q, sum.density, ux, uy);
        stress_xx += VELOCITY_X[q] * VELOCITY_X[q] * away[q];
        stress_yy += VELOCITY_Y[q] * VELOCITY_Y[q] * away[q];
        stress_xy += VELOCITY_X[q] * VELOCITY_Y[q] * away[q];
    }
    const float size = sqrt(stress_xx * stress_xx + stress_yy * stress_yy + 2.0f * stress_xy * stress_xy);
    const float time = 1.0f / omega;
    const float turbulent_time = 0.5f * (time + sqrt(time * time + 18.0f * M_SQRT2_F * constant_square * size / sum.density));
    for (int q = 0; q < VELOCITIES; q++) {
        p[q] -= away[q] / turbulent_time;
    }
    store_cell(f, cell, cells, p);
}

/* ---- streaming: each cell pulls the populations that move towards it ---- */

static inline int wrapped(int place, int size)
{
    return place < 0 ? place + size : place >= size ? place - size : place;
}

__kernel void stream_periodic(__global const float *from, __global float *to, const int width, const int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height) {
        return;
    }
    const int cells = width * height;
    for (int q = 0; q < VELOCITIES; q++) {
        const int source = wrapped(y - VELOCITY_Y[q], height) * width + wrapped(x - VELOCITY_X[q], width);
        to[q * cells + y * width + x] = from[q * cells + source];
    }
}

/*
 * Populations from a wall are those of the cell itself: reversed at a wall at rest, and reversed
 * with the momentum of the wall if it moves with (wall_x, wall_y). At a smooth wall they come from
 * the neighbour along the wall, with y mirrored. A smooth wall is a whole row.
 */
static inline float arriving(__global const float *from, __global const int *kinds, int x, int y, int q, int width, int height,
                             float wall_x, float wall_y)
{
    const int cells = width * height;
    const int cell = y * width + x;
    const int source_x = wrapped(x - VELOCITY_X[q], width);
    const int source = wrapped(y - VELOCITY_Y[q], height) * width + source_x;
    const int kind = kinds[source];
    if (kind == FLUID) {
        return from[q * cells + source];
    }
    const float returned = from[OPPOSITE[q] * cells + cell];
    if (kind == MOVING_WALL) {
        float p[VELOCITIES];
        load_cell(from, cell, cells, p);
        const float along = VELOCITY_X[q] * wall_x + VELOCITY_Y[q] * wall_y;
        return returned + 6.0f * WEIGHT[q] * flow_of(p).density * along;
    }
    if (kind == SLIP_WALL) {
        const int beside = y * width + source_x;
        return kinds[beside] == FLUID ? from[MIRRORED[q] * cells + beside] : returned;
    }
    return returned;
}

/* Walls keep their populations. */
__kernel void stream_walls(__global const float *from, __global float *to, __global const int *kinds, const int width, const int height,
                           const float wall_x, const float wall_y)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height) {
        return;
    }
    const int cells = width * height;
    const int cell = y * width + x;
    const bool fluid = kinds[cell] == FLUID;
    for (int q = 0; q < VELOCITIES; q++) {
        to[q * cells + cell] = fluid ? arriving(from, kinds, x, y, q, width, height, wall_x, wall_y) : from[q * cells + cell];
    }
}

/* ---- open boundaries: one work-item for each row, after streaming ---- */

/* The three unknown populations at the left edge follow from the velocity (speeds[y], 0). */
__kernel void inlet_velocity(__global float *f, __global const int *kinds, const int width, const int height,
                             __global const float *speeds)
{
    const int y = get_global_id(0);
    if (y >= height || kinds[y * width] != FLUID) {
        return;
    }
    const int cells = width * height;
    const float speed = speeds[y];
    float p[VELOCITIES];
    load_cell(f, y * width, cells, p);
    const float density = (p[0] + p[2] + p[4] + 2.0f * (p[3] + p[6] + p[7])) / (1.0f - speed);
    const float shear = 0.5f * (p[2] - p[4]);
    p[1] = p[3] + density * speed * 2.0f / 3.0f;
    p[5] = p[7] - shear + density * speed / 6.0f;
    p[8] = p[6] + shear + density * speed / 6.0f;
    store_cell(f, y * width, cells, p);
}

/*
 * The three unknown populations at the right edge follow from the density, with no velocity along
 * the edge.
 */
__kernel void outlet_pressure(__global float *f, __global const int *kinds, const int width, const int height, const float density)
{
    const int y = get_global_id(0);
    const int cell = y * width + width - 1;
    if (y >= height || kinds[cell] != FLUID) {
        return;
    }
    const int cells = width * height;
    float p[VELOCITIES];
    load_cell(f, cell, cells, p);
    const float speed = (p[0] + p[2] + p[4] + 2.0f * (p[1] + p[5] + p[8])) / density - 1.0f;
    const float shear = 0.5f * (p[2] - p[4]);
    p[3] = p[1] - density * speed * 2.0f / 3.0f;
    p[7] = p[5] + shear - density * speed / 6.0f;
    p[6] = p[8] - shear - density * speed / 6.0f;
    store_cell(f, cell, cells, p);
}

/* The populations that enter at the right edge are those that enter the column before it. */
__kernel void outlet_copy(__global float *f, __global const int *kinds, const int width, const int height)
{
    const int y = get_global_id(0);
    const int cell = y * width + width - 1;
    if (y >= height || kinds[cell] != FLUID || kinds[cell - 1] != FLUID) {
        return;
    }
    const int cells = width * height;
    f[3 * cells + cell] = f[3 * cells + cell - 1];
    f[6 * cells + cell] = f[6 * cells + cell - 1];
    f[7 * cells + cell] = f[7 * cells + cell - 1];
}

/* ---- observable quantities ---- */

/* Density and velocity of each cell; walls show the density 0 and no velocity. */
__kernel void observe(__global const float *f, __global const int *kinds, __global float *density, __global float *velocity_x,
                      __global float *velocity_y, const int width, const int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height) {
        return;
    }
    const int cell = y * width + x;
    flow sum = {0.0f, 0.0f, 0.0f};
    if (kinds[cell] == FLUID) {
        float p[VELOCITIES];
        load_cell(f, cell, width * height, p);
        sum = flow_of(p);
        sum.x /= sum.density;
        sum.y /= sum.density;
    }
    density[cell] = sum.density;
    velocity_x[cell] = sum.x;
    velocity_y[cell] = sum.y;
}

/* The curl of the velocity by central differences, one-sided at the edges of the domain. */
__kernel void vorticity(__global const float *velocity_x, __global const float *velocity_y, __global float *curl, const int width,
                        const int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height) {
        return;
    }
    const int west = max(x - 1, 0);
    const int east = min(x + 1, width - 1);
    const int south = max(y - 1, 0);
    const int north = min(y + 1, height - 1);
    const float across = (velocity_y[y * width + east] - velocity_y[y * width + west]) / (east - west);
    const float along = (velocity_x[north * width + x] - velocity_x[south * width + x]) / (north - south);
    curl[y * width + x] = across - along;
}

/* Adds one value of each work-item of a group; the first work-item gets the sum. */
static inline float2 added_in_group(float2 mine, __local float2 *scratch)
{
    const uint item = get_local_id(0);
    scratch[item] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint width = GROUP / 2; width > 0; width /= 2) {
        if (item < width) {
            scratch[item] += scratch[item + width];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return scratch[0];
}

/*
 * The force of the flow on the obstacle in one step by momentum exchange (Ladd): each link from a
 * fluid cell into the obstacle gives it twice the momentum of what moves along the link. To be
 * called between collision and streaming; one partial sum for each group.
 */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void obstacle_force(__global const float *f, __global const int *kinds, const int width, const int height, __global float2 *partial)
{
    __local float2 scratch[GROUP];
    const int cells = width * height;
    float2 force = (float2) (0.0f);
    for (int cell = get_global_id(0); cell < cells; cell += get_global_size(0)) {
        if (kinds[cell] != FLUID) {
            continue;
        }
        for (int q = 1; q < VELOCITIES; q++) {
            const int x = wrapped(cell % width + VELOCITY_X[q], width);
            const int y = wrapped(cell / width + VELOCITY_Y[q], height);
            if (kinds[y * width + x] == OBSTACLE) {
                force += 2.0f * f[q * cells + cell] * (float2) (VELOCITY_X[q], VELOCITY_Y[q]);
            }
        }
    }
    force = added_in_group(force, scratch);
    if (get_local_id(0) == 0) {
        partial[get_group_id(0)] = force;
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void total_force(__global const float2 *partial, const uint count, __global float2 *force)
{
    __local float2 scratch[GROUP];
    float2 mine = (float2) (0.0f);
    for (uint i = get_local_id(0); i < count; i += GROUP) {
        mine += partial[i];
    }
    mine = added_in_group(mine, scratch);
    if (get_local_id(0) == 0) {
        *force = mine;
    }
}
