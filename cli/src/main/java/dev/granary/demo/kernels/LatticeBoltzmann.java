package dev.granary.demo.kernels;

import dev.granary.demo.kernels.LatticeReference.Kind;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * Flow in two dimensions by the lattice Boltzmann method D2Q9 (Qian, d'Humieres, Lallemand,
 * "Lattice BGK models for Navier-Stokes equation"; Krueger et al., "The Lattice Boltzmann Method"):
 * four flows, which use all four collisions and all boundaries of the program.
 */
final class LatticeBoltzmann {
    private static final int WIDTH = 43;
    private static final int HEIGHT = 29;
    private static final int STEPS = 4;
    private static final Geometry CELLS = Geometry.of(48, 32).local(16, 8);
    private static final Geometry ROWS = Geometry.of(32).local(32);

    private LatticeBoltzmann() {}

    static DemoKernel kernel() {
        KernelRecipe recipe =
                KernelRecipe.of("lattice-boltzmann", "lattice_boltzmann.cl").with("-D GROUP=64");
        for (String kernel : new String[] {
            "mark_cells",
            "initialise",
            "collide_bgk",
            "collide_trt",
            "collide_mrt",
            "collide_smagorinsky",
            "stream_periodic",
            "stream_walls",
            "observe",
            "vorticity"
        }) {
            recipe = recipe.launching(kernel, CELLS);
        }
        return recipe.launching("inlet_velocity", ROWS)
                .launching("outlet_pressure", ROWS)
                .launching("outlet_copy", ROWS)
                .launching("obstacle_force", Geometry.of(384).local(64))
                .launching("total_force", Geometry.of(64).local(64))
                .checkedBy(LatticeBoltzmann::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        ResultComparison comparison = new ResultComparison();
        channel(harness, random).compare(comparison, "channel");
        cavity(harness, random).compare(comparison, "cavity");
        smoothChannel(harness, random).compare(comparison, "smooth channel");
        turbulence(harness, random).compare(comparison, "turbulence");
        return comparison.result();
    }

    /**
     * Flow past a disc between walls, driven by a force, from a prescribed velocity to a prescribed
     * pressure.
     */
    private static LatticeFlow channel(KernelHarness harness, RandomGenerator random) {
        LatticeFlow flow = new LatticeFlow(harness, random, WIDTH, HEIGHT);
        flow.mark(
                Kind.WALL,
                Kind.WALL,
                Kind.FLUID,
                random.nextInt(10, 20) + 0.25f,
                random.nextInt(12, 18) + 0.5f,
                5.3f);
        float omega = random.nextFloat(1, 1.8f);
        for (int step = 0; step < STEPS; step++) {
            flow.collideBgk(omega, 2e-4f, -1e-4f);
            flow.measureForce();
            flow.streamWalls(0, 0);
            flow.inletVelocity();
            flow.outletPressure(1.01f);
        }
        return flow;
    }

    /** Flow in a closed box under a moving lid. */
    private static LatticeFlow cavity(KernelHarness harness, RandomGenerator random) {
        LatticeFlow flow = new LatticeFlow(harness, random, WIDTH, HEIGHT);
        flow.mark(Kind.WALL, Kind.MOVING_WALL, Kind.WALL, 0, 0, 0);
        float omega = random.nextFloat(1, 1.8f);
        for (int step = 0; step < STEPS; step++) {
            flow.collideTrt(omega, 3f / 16);
            flow.streamWalls(0.1f, 0);
        }
        return flow;
    }

    /** Flow past a small disc between frictionless walls, with a zero-gradient outlet. */
    private static LatticeFlow smoothChannel(KernelHarness harness, RandomGenerator random) {
        LatticeFlow flow = new LatticeFlow(harness, random, WIDTH, HEIGHT);
        flow.mark(
                Kind.SLIP_WALL,
                Kind.SLIP_WALL,
                Kind.FLUID,
                14.25f,
                random.nextInt(4, 25) + 0.5f,
                3.2f);
        float stress = random.nextFloat(1, 1.8f);
        for (int step = 0; step < STEPS; step++) {
            flow.collideMrt(1.1f, 1.3f, 1.6f, stress);
            flow.streamWalls(0, 0);
            flow.inletVelocity();
            flow.outletCopy();
        }
        return flow;
    }

    /** Mixing of a random field without walls. */
    private static LatticeFlow turbulence(KernelHarness harness, RandomGenerator random) {
        LatticeFlow flow = new LatticeFlow(harness, random, WIDTH, HEIGHT);
        flow.mark(Kind.FLUID, Kind.FLUID, Kind.FLUID, 0, 0, 0);
        for (int step = 0; step < STEPS; step++) {
            flow.collideSmagorinsky(1.9f, 0.03f);
            flow.streamPeriodic();
        }
        return flow;
    }
}
