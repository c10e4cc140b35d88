package dev.granary.demo.kernels;

import dev.granary.demo.kernels.LatticeReference.Kind;
import dev.granary.gpu.opencl.OpenClBuffer;
import java.util.random.RandomGenerator;

/** One flow on a device and, step by step, in the reference: every method does the same to both. */
final class LatticeFlow {
    private static final int VELOCITIES = LatticeCollisions.C.length;
    private static final Tolerance POPULATION = new Tolerance(5e-6, 1e-6);
    private static final Tolerance VELOCITY = new Tolerance(1e-5, 3e-6);
    private static final Tolerance FORCE = new Tolerance(5e-6, 2e-5);

    private final KernelHarness bench;
    private final int width;
    private final int height;
    private final LatticeReference reference;
    private final OpenClBuffer kinds;
    private final OpenClBuffer force;
    private final OpenClBuffer speeds;
    private final float[] inletSpeeds;
    private OpenClBuffer f;
    private OpenClBuffer next;
    private double[] expectedForce = new double[0];

    /** A flow that starts in the equilibrium of a random field, all its cells still to be marked. */
    LatticeFlow(KernelHarness bench, RandomGenerator random, int width, int height) {
        this.bench = bench;
        this.width = width;
        this.height = height;
        int cells = width * height;
        reference = new LatticeReference(width, height);
        kinds = bench.ints(cells);
        force = bench.floats(2);
        f = bench.floats(VELOCITIES * cells);
        next = bench.floats(VELOCITIES * cells);
        inletSpeeds = SyntheticData.floats(random, height, 0.04f, 0.06f);
        speeds = bench.input(inletSpeeds);
        float[] density = SyntheticData.floats(random, cells, 0.98f, 1.02f);
        float[] velocityX = SyntheticData.floats(random, cells, -0.02f, 0.08f);
        float[] velocityY = SyntheticData.floats(random, cells, -0.05f, 0.05f);
        bench.launch("initialise", f, bench.input(density), bench.input(velocityX), bench.input(velocityY), width, height);
        reference.initialise(density, velocityX, velocityY);
    }

    void mark(Kind lower, Kind upper, Kind sides, float discX, float discY, float radius) {
        int closed = sides == Kind.WALL ? 1 : 0;
        bench.launch("mark_cells", kinds, width, height, lower.number(), upper.number(), closed, discX, discY, radius);
        reference.mark(lower, upper, sides, discX, discY, radius);
    }

    void collideBgk(float omega, float forceX, float forceY) {
        bench.launch("collide_bgk", f, kinds, width, height, omega, forceX, forceY);
        reference.collide(cell -> LatticeCollisions.relaxWithForce(cell, omega, new double[] {forceX, forceY}));
    }

    void collideTrt(float even, float magic) {
        bench.launch("collide_trt", f, kinds, width, height, even, magic);
        reference.collide(cell -> LatticeCollisions.relaxPairs(cell, even, magic));
    }

    void collideMrt(float energy, float energySquare, float flux, float stress) {
        bench.launch("collide_mrt", f, kinds, width, height, energy, energySquare, flux, stress);
        reference.collide(cell -> LatticeCollisions.relaxMoments(cell, energy, energySquare, flux, stress));
    }

    void collideSmagorinsky(float omega, float constantSquare) {
        bench.launch("collide_smagorinsky", f, kinds, width, height, omega, constantSquare);
        reference.collide(cell -> LatticeCollisions.relaxTurbulent(cell, omega, constantSquare));
    }

    void streamPeriodic() {
        bench.launch("stream_periodic", f, next, width, height);
        swap();
        reference.streamPeriodic();
    }

    void streamWalls(float wallX, float wallY) {
        bench.launch("stream_walls", f, next, kinds, width, height, wallX, wallY);
        swap();
        reference.streamWalls(wallX, wallY);
    }

    void inletVelocity() {
        bench.launch("inlet_velocity", f, kinds, width, height, speeds);
        reference.inletVelocity(inletSpeeds);
    }

    void outletPressure(float density) {
        bench.launch("outlet_pressure", f, kinds, width, height, density);
        reference.outletPressure(density);
    }

    void outletCopy() {
        bench.launch("outlet_copy", f, kinds, width, height);
        reference.outletCopy();
    }

    /** The force on the obstacle, between a collision and streaming. */
    void measureForce() {
        int groups = bench.groupsOf("obstacle_force");
        OpenClBuffer partial = bench.floats(2 * groups);
        bench.launch("obstacle_force", f, kinds, width, height, partial);
        bench.launch("total_force", partial, groups, force);
        expectedForce = reference.obstacleForce();
    }

    /** Compares all that can be seen of the two. */
    void compare(ResultComparison comparison, String what) {
        int cells = width * height;
        OpenClBuffer density = bench.floats(cells);
        OpenClBuffer velocityX = bench.floats(cells);
        OpenClBuffer velocityY = bench.floats(cells);
        OpenClBuffer curl = bench.floats(cells);
        bench.launch("observe", f, kinds, density, velocityX, velocityY, width, height);
        bench.launch("vorticity", velocityX, velocityY, curl, width, height);
        comparison
                .ints(what + " kind", reference.kinds(), KernelHarness.intsOf(kinds))
                .floats(what + " population", reference.populations(), KernelHarness.floatsOf(f), POPULATION)
                .floats(what + " density", reference.density(), KernelHarness.floatsOf(density), POPULATION)
                .floats(what + " velocity x", reference.velocity(0), KernelHarness.floatsOf(velocityX), VELOCITY)
                .floats(what + " velocity y", reference.velocity(1), KernelHarness.floatsOf(velocityY), VELOCITY)
                .floats(what + " vorticity", reference.curl(), KernelHarness.floatsOf(curl), VELOCITY);
        if (expectedForce.length > 0) {
            comparison.floats(what + " force", expectedForce, KernelHarness.floatsOf(force), FORCE);
        }
    }

    private void swap() {
        OpenClBuffer streamed = next;
        next = f;
        f = streamed;
    }
}
