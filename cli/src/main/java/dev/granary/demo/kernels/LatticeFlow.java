package dev.granary.demo.kernels;

import dev.granary.demo.kernels.LatticeReference.Kind;
import dev.granary.gpu.DeviceBuffer;

import java.util.random.RandomGenerator;

/** A flow on a device and in the reference. Every method applies the same step to both. */
final class LatticeFlow {
    private static final int VELOCITIES = LatticeCollisions.C.length;
    private static final Tolerance POPULATION = new Tolerance(5e-6, 1e-6);
    private static final Tolerance VELOCITY = new Tolerance(1e-5, 3e-6);
    private static final Tolerance FORCE = new Tolerance(5e-6, 2e-5);

    private final KernelHarness harness;
    private final int width;
    private final int height;
    private final LatticeReference reference;
    private final DeviceBuffer kinds;
    private final DeviceBuffer force;
    private final DeviceBuffer speeds;
    private final float[] inletSpeeds;
    private DeviceBuffer f;
    private DeviceBuffer next;
    private double[] expectedForce = new double[0];

    /** Creates a flow in the equilibrium of a random field, without marked cells. */
    LatticeFlow(KernelHarness harness, RandomGenerator random, int width, int height) {
        this.harness = harness;
        this.width = width;
        this.height = height;
        int cells = width * height;
        reference = new LatticeReference(width, height);
        kinds = harness.ints(cells);
        force = harness.floats(2);
        f = harness.floats(VELOCITIES * cells);
        next = harness.floats(VELOCITIES * cells);
        inletSpeeds = SyntheticData.floats(random, height, 0.04f, 0.06f);
        speeds = harness.input(inletSpeeds);
        float[] density = SyntheticData.floats(random, cells, 0.98f, 1.02f);
        float[] velocityX = SyntheticData.floats(random, cells, -0.02f, 0.08f);
        float[] velocityY = SyntheticData.floats(random, cells, -0.05f, 0.05f);
        harness.launch(
                "initialise",
                f,
                harness.input(density),
                harness.input(velocityX),
                harness.input(velocityY),
                width,
                height);
        reference.initialise(density, velocityX, velocityY);
    }

    void mark(Kind lower, Kind upper, Kind sides, float discX, float discY, float radius) {
        int closed = sides == Kind.WALL ? 1 : 0;
        harness.launch(
                "mark_cells",
                kinds,
                width,
                height,
                lower.number(),
                upper.number(),
                closed,
                discX,
                discY,
                radius);
        reference.mark(lower, upper, sides, discX, discY, radius);
    }

    void collideBgk(float omega, float forceX, float forceY) {
        harness.launch("collide_bgk", f, kinds, width, height, omega, forceX, forceY);
        reference.collide(cell ->
                LatticeCollisions.relaxWithForce(cell, omega, new double[] {forceX, forceY}));
    }

    void collideTrt(float even, float magic) {
        harness.launch("collide_trt", f, kinds, width, height, even, magic);
        reference.collide(cell -> LatticeCollisions.relaxPairs(cell, even, magic));
    }

    void collideMrt(float energy, float energySquare, float flux, float stress) {
        harness.launch("collide_mrt", f, kinds, width, height, energy, energySquare, flux, stress);
        reference.collide(
                cell -> LatticeCollisions.relaxMoments(cell, energy, energySquare, flux, stress));
    }

    void collideSmagorinsky(float omega, float constantSquare) {
        harness.launch("collide_smagorinsky", f, kinds, width, height, omega, constantSquare);
        reference.collide(cell -> LatticeCollisions.relaxTurbulent(cell, omega, constantSquare));
    }

    void streamPeriodic() {
        harness.launch("stream_periodic", f, next, width, height);
        swap();
        reference.streamPeriodic();
    }

    void streamWalls(float wallX, float wallY) {
        harness.launch("stream_walls", f, next, kinds, width, height, wallX, wallY);
        swap();
        reference.streamWalls(wallX, wallY);
    }

    void inletVelocity() {
        harness.launch("inlet_velocity", f, kinds, width, height, speeds);
        reference.inletVelocity(inletSpeeds);
    }

    void outletPressure(float density) {
        harness.launch("outlet_pressure", f, kinds, width, height, density);
        reference.outletPressure(density);
    }

    void outletCopy() {
        harness.launch("outlet_copy", f, kinds, width, height);
        reference.outletCopy();
    }

    /** Computes the force on the obstacle. Called between a collision and streaming. */
    void measureForce() {
        int groups = harness.groupsOf("obstacle_force");
        DeviceBuffer partial = harness.floats(2 * groups);
        harness.launch("obstacle_force", f, kinds, width, height, partial);
        harness.launch("total_force", partial, groups, force);
        expectedForce = reference.obstacleForce();
    }

    /** Compares all observable quantities of the two. */
    void compare(ResultComparison comparison, String what) {
        int cells = width * height;
        DeviceBuffer density = harness.floats(cells);
        DeviceBuffer velocityX = harness.floats(cells);
        DeviceBuffer velocityY = harness.floats(cells);
        DeviceBuffer curl = harness.floats(cells);
        harness.launch("observe", f, kinds, density, velocityX, velocityY, width, height);
        harness.launch("vorticity", velocityX, velocityY, curl, width, height);
        comparison
                .ints(what + " kind", reference.kinds(), KernelHarness.intsOf(kinds))
                .floats(
                        what + " population",
                        reference.populations(),
                        KernelHarness.floatsOf(f),
                        POPULATION)
                .floats(
                        what + " density",
                        reference.density(),
                        KernelHarness.floatsOf(density),
                        POPULATION)
                .floats(
                        what + " velocity x",
                        reference.velocity(0),
                        KernelHarness.floatsOf(velocityX),
                        VELOCITY)
                .floats(
                        what + " velocity y",
                        reference.velocity(1),
                        KernelHarness.floatsOf(velocityY),
                        VELOCITY)
                .floats(
                        what + " vorticity",
                        reference.curl(),
                        KernelHarness.floatsOf(curl),
                        VELOCITY);
        if (expectedForce.length > 0) {
            comparison.floats(what + " force", expectedForce, KernelHarness.floatsOf(force), FORCE);
        }
    }

    private void swap() {
        DeviceBuffer streamed = next;
        next = f;
        f = streamed;
    }
}
