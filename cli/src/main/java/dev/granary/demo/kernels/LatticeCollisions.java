package dev.granary.demo.kernels;

/**
 * Collisions of one D2Q9 cell in doubles, in the notation of their authors: the reference of the
 * demo's lattice Boltzmann kernels. Velocity q is {@code C[q]}; the populations of a cell are an
 * array of nine.
 */
final class LatticeCollisions {
    /** The velocities. */
    static final int[][] C = {
        {0, 0}, {1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, 1}, {-1, -1}, {1, -1}
    };

    /**
     * Transformation of populations to moments: the matrix of Lallemand and Luo, "Theory of the
     * lattice Boltzmann method", 2000.
     */
    private static final int[][] MOMENTS = {
        {1, 1, 1, 1, 1, 1, 1, 1, 1},
        {-4, -1, -1, -1, -1, 2, 2, 2, 2},
        {4, -2, -2, -2, -2, 1, 1, 1, 1},
        {0, 1, 0, -1, 0, 1, -1, -1, 1},
        {0, -2, 0, 2, 0, 1, -1, -1, 1},
        {0, 0, 1, 0, -1, 1, 1, -1, -1},
        {0, 0, -2, 0, 2, 1, 1, -1, -1},
        {0, 1, -1, 1, -1, 0, 0, 0, 0},
        {0, 0, 0, 0, 0, 1, -1, 1, -1},
    };

    private LatticeCollisions() {}

    /** Returns the index of the velocity (x, y). */
    static int index(int x, int y) {
        for (int q = 0; q < C.length; q++) {
            if (C[q][0] == x && C[q][1] == y) {
                return q;
            }
        }
        throw new IllegalArgumentException("D2Q9 has no velocity (" + x + ", " + y + ")");
    }

    /** Returns the index of the opposite velocity. */
    static int opposite(int q) {
        return index(-C[q][0], -C[q][1]);
    }

    static double weight(int q) {
        return switch (C[q][0] * C[q][0] + C[q][1] * C[q][1]) {
            case 0 -> 4.0 / 9;
            case 1 -> 1.0 / 9;
            default -> 1.0 / 36;
        };
    }

    static double density(double[] f) {
        double sum = 0;
        for (double population : f) {
            sum += population;
        }
        return sum;
    }

    /** Returns the momentum along an axis: 0 for x, 1 for y. */
    static double momentum(double[] f, int axis) {
        double sum = 0;
        for (int q = 0; q < C.length; q++) {
            sum += f[q] * C[q][axis];
        }
        return sum;
    }

    static double[] equilibrium(double density, double ux, double uy) {
        double[] populations = new double[C.length];
        for (int q = 0; q < C.length; q++) {
            double cu = C[q][0] * ux + C[q][1] * uy;
            populations[q] = weight(q)
                    * density
                    * (1 + 3 * cu + 9 * cu * cu / 2 - 3 * (ux * ux + uy * uy) / 2);
        }
        return populations;
    }

    /**
     * Collides with one relaxation time (Bhatnagar, Gross, Krook) and a force (Guo, Zheng, Shi,
     * "Discrete lattice effects on the forcing term", 2002, eq. 20).
     */
    static void relaxWithForce(double[] f, double omega, double[] force) {
        double density = density(f);
        double[] u = {
            (momentum(f, 0) + force[0] / 2) / density, (momentum(f, 1) + force[1] / 2) / density
        };
        double[] rest = equilibrium(density, u[0], u[1]);
        for (int q = 0; q < C.length; q++) {
            double push = 0;
            for (int axis = 0; axis < 2; axis++) {
                double cu = C[q][0] * u[0] + C[q][1] * u[1];
                push += ((C[q][axis] - u[axis]) * 3 + cu * C[q][axis] * 9) * force[axis];
            }
            f[q] = (1 - omega) * f[q] + omega * rest[q] + (1 - omega / 2) * weight(q) * push;
        }
    }

    /**
     * Collides with two relaxation times (Ginzburg, Verhaeghe, d'Humieres, 2008): for the symmetric
     * and antisymmetric parts of each pair of opposite velocities.
     */
    static void relaxPairs(double[] f, double even, double magic) {
        double odd = 1 / (magic / (1 / even - 0.5) + 0.5);
        double[] rest =
                equilibrium(density(f), momentum(f, 0) / density(f), momentum(f, 1) / density(f));
        double[] before = f.clone();
        for (int q = 0; q < C.length; q++) {
            int back = opposite(q);
            double symmetric = (before[q] + before[back]) / 2 - (rest[q] + rest[back]) / 2;
            double antisymmetric = (before[q] - before[back]) / 2 - (rest[q] - rest[back]) / 2;
            f[q] = before[q] - even * symmetric - odd * antisymmetric;
        }
    }

    /**
     * Collides with many relaxation times: f - M^-1 S M (f - equilibrium), with the rates of
     * energy, its square, heat flux and stress in S.
     */
    static void relaxMoments(
            double[] f, double energy, double energySquare, double flux, double stress) {
        double[] rates = {0, energy, energySquare, 0, flux, 0, flux, stress, stress};
        double[] rest =
                equilibrium(density(f), momentum(f, 0) / density(f), momentum(f, 1) / density(f));
        double[] change = new double[C.length];
        for (int m = 0; m < MOMENTS.length; m++) {
            double moment = 0;
            double length = 0;
            for (int q = 0; q < C.length; q++) {
                moment += MOMENTS[m][q] * (f[q] - rest[q]);
                length += MOMENTS[m][q] * MOMENTS[m][q];
            }
            for (int q = 0; q < C.length; q++) {
                change[q] -= MOMENTS[m][q] * rates[m] * moment / length;
            }
        }
        for (int q = 0; q < C.length; q++) {
            f[q] += change[q];
        }
    }

    /**
     * Collides with Smagorinsky's eddy viscosity (Hou, Sterling, Chen, Doolen, "A lattice Boltzmann
     * subgrid model", 1996).
     */
    static void relaxTurbulent(double[] f, double omega, double constantSquare) {
        double density = density(f);
        double[] rest = equilibrium(density, momentum(f, 0) / density, momentum(f, 1) / density);
        double contraction = 0;
        for (int a = 0; a < 2; a++) {
            for (int b = 0; b < 2; b++) {
                double stress = 0;
                for (int q = 0; q < C.length; q++) {
                    stress += C[q][a] * C[q][b] * (f[q] - rest[q]);
                }
                contraction += stress * stress;
            }
        }
        double time = 1 / omega;
        double eddies =
                Math.sqrt(time * time + 18 * Math.sqrt(2 * contraction) * constantSquare / density)
                        - time;
        for (int q = 0; q < C.length; q++) {
            f[q] -= (f[q] - rest[q]) / (time + eddies / 2);
        }
    }
}
