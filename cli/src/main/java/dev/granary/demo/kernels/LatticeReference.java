package dev.granary.demo.kernels;

import static dev.granary.demo.kernels.LatticeCollisions.C;
import static dev.granary.demo.kernels.LatticeCollisions.equilibrium;
import static dev.granary.demo.kernels.LatticeCollisions.index;
import static dev.granary.demo.kernels.LatticeCollisions.opposite;
import static dev.granary.demo.kernels.LatticeCollisions.weight;

import java.util.function.Consumer;

/**
 * D2Q9 lattice in doubles: the reference of the demo's lattice Boltzmann kernels. Its cells push
 * their populations to their neighbours, while the kernels pull. Input and output arrays have the
 * kernels' layout.
 */
final class LatticeReference {
    /** The kind of a cell. */
    enum Kind {
        FLUID(0),
        WALL(1),
        MOVING_WALL(2),
        SLIP_WALL(3),
        OBSTACLE(4);

        private final int number;

        Kind(int number) {
            this.number = number;
        }

        /** Returns its number in the kernels. */
        int number() {
            return number;
        }
    }

    private final int width;
    private final int height;
    private final Kind[][] kinds;
    private double[][][] f;

    LatticeReference(int width, int height) {
        this.width = width;
        this.height = height;
        this.kinds = new Kind[width][height];
        this.f = new double[width][height][C.length];
    }

    /**
     * Sets the kind of each cell: of the lower and upper row, of the other cells at both sides, and
     * of a disc of obstacles if {@code radius} is positive. All others are fluid.
     */
    void mark(Kind lower, Kind upper, Kind sides, double discX, double discY, double radius) {
        for (int x = 0; x < width; x++) {
            for (int y = 0; y < height; y++) {
                Kind row = y == 0 ? lower : y == height - 1 ? upper : Kind.FLUID;
                Kind side = x == 0 || x == width - 1 ? sides : Kind.FLUID;
                Kind disc = radius > 0 && Math.hypot(x - discX, y - discY) <= radius
                        ? Kind.OBSTACLE
                        : Kind.FLUID;
                kinds[x][y] = row != Kind.FLUID ? row : side != Kind.FLUID ? side : disc;
            }
        }
    }

    /** Returns the number of the kind of each cell. */
    int[] kinds() {
        int[] numbers = new int[width * height];
        for (int cell = 0; cell < numbers.length; cell++) {
            numbers[cell] = kinds[cell % width][cell / width].number();
        }
        return numbers;
    }

    /** Sets each cell to the equilibrium of its density and velocity. */
    void initialise(float[] density, float[] velocityX, float[] velocityY) {
        for (int cell = 0; cell < density.length; cell++) {
            f[cell % width][cell / width] =
                    equilibrium(density[cell], velocityX[cell], velocityY[cell]);
        }
    }

    /** Runs {@code collision} on the populations of each fluid cell. */
    void collide(Consumer<double[]> collision) {
        for (int x = 0; x < width; x++) {
            for (int y = 0; y < height; y++) {
                if (kinds[x][y] == Kind.FLUID) {
                    collision.accept(f[x][y]);
                }
            }
        }
    }

    /** Moves all populations to the neighbours, across the edges too; kinds have no effect. */
    void streamPeriodic() {
        double[][][] next = new double[width][height][C.length];
        for (int x = 0; x < width; x++) {
            for (int y = 0; y < height; y++) {
                for (int q = 0; q < C.length; q++) {
                    next[Math.floorMod(x + C[q][0], width)][Math.floorMod(y + C[q][1], height)][q] =
                            f[x][y][q];
                }
            }
        }
        f = next;
    }

    /** Moves the populations of fluid cells, with reflection at walls and obstacles. */
    void streamWalls(double wallX, double wallY) {
        double[][][] next = new double[width][height][];
        for (int x = 0; x < width; x++) {
            for (int y = 0; y < height; y++) {
                // walls keep their populations, fluid cells are overwritten
                next[x][y] = f[x][y].clone();
            }
        }
        for (int x = 0; x < width; x++) {
            for (int y = 0; y < height; y++) {
                for (int q = 0; q < C.length && kinds[x][y] == Kind.FLUID; q++) {
                    push(next, x, y, q, wallX, wallY);
                }
            }
        }
        f = next;
    }

    private void push(double[][][] next, int x, int y, int q, double wallX, double wallY) {
        int toX = Math.floorMod(x + C[q][0], width);
        int toY = Math.floorMod(y + C[q][1], height);
        double moving = f[x][y][q];
        switch (kinds[toX][toY]) {
            case FLUID -> next[toX][toY][q] = moving;
            case WALL, OBSTACLE -> next[x][y][opposite(q)] = moving;
            case MOVING_WALL -> {
                double along = C[q][0] * wallX + C[q][1] * wallY;
                next[x][y][opposite(q)] =
                        moving - 6 * weight(q) * LatticeCollisions.density(f[x][y]) * along;
            }
            case SLIP_WALL -> {
                if (kinds[toX][y] == Kind.FLUID) {
                    next[toX][y][index(C[q][0], -C[q][1])] = moving;
                } else {
                    next[x][y][opposite(q)] = moving;
                }
            }
        }
    }

    /**
     * Sets the velocity at the left edge, by bounce-back of the non-equilibrium part (Zou and He,
     * "On pressure and velocity boundary conditions", 1997).
     */
    void inletVelocity(float[] speeds) {
        for (int y = 0; y < height; y++) {
            if (kinds[0][y] == Kind.FLUID) {
                double[] p = f[0][y];
                double density = (p[0] + p[2] + p[4] + 2 * (p[3] + p[6] + p[7])) / (1 - speeds[y]);
                closeEdge(p, density * speeds[y], 1);
            }
        }
    }

    /** Sets the density at the right edge, as {@link #inletVelocity} sets the velocity. */
    void outletPressure(double density) {
        for (int y = 0; y < height; y++) {
            if (kinds[width - 1][y] == Kind.FLUID) {
                double[] p = f[width - 1][y];
                double speed = -1 + (p[0] + p[2] + p[4] + 2 * (p[1] + p[5] + p[8])) / density;
                closeEdge(p, density * speed, -1);
            }
        }
    }

    /** Copies the populations that enter at the right edge from the neighbours to the left. */
    void outletCopy() {
        for (int y = 0; y < height; y++) {
            if (kinds[width - 1][y] == Kind.FLUID && kinds[width - 2][y] == Kind.FLUID) {
                for (int q = 0; q < C.length; q++) {
                    f[width - 1][y][q] = C[q][0] < 0 ? f[width - 2][y][q] : f[width - 1][y][q];
                }
            }
        }
    }

    /** Sets the populations that enter along x, so that the momentum is (flux, 0). */
    private static void closeEdge(double[] p, double flux, int enters) {
        p[index(enters, 0)] = p[index(-enters, 0)] + enters * 2 * flux / 3;
        for (int cy = -1; cy <= 1; cy += 2) {
            p[index(enters, cy)] =
                    p[index(-enters, -cy)] - cy * (p[2] - p[4]) / 2 + enters * flux / 6;
        }
    }

    /** Returns the force of the fluid on the obstacles, as x and y: the exchanged momentum. */
    double[] obstacleForce() {
        double[] force = new double[2];
        for (int x = 0; x < width; x++) {
            for (int y = 0; y < height; y++) {
                for (int q = 0; q < C.length && kinds[x][y] == Kind.FLUID; q++) {
                    if (kinds[Math.floorMod(x + C[q][0], width)][Math.floorMod(y + C[q][1], height)]
                            == Kind.OBSTACLE) {
                        force[0] += 2 * C[q][0] * f[x][y][q];
                        force[1] += 2 * C[q][1] * f[x][y][q];
                    }
                }
            }
        }
        return force;
    }

    /** Returns the populations of all cells for the first velocity, then for the next ones. */
    double[] populations() {
        double[] flat = new double[C.length * width * height];
        for (int i = 0; i < flat.length; i++) {
            int cell = i % (width * height);
            flat[i] = f[cell % width][cell / width][i / (width * height)];
        }
        return flat;
    }

    /** Returns the density of each cell, 0 unless it is fluid. */
    double[] density() {
        double[] density = new double[width * height];
        for (int cell = 0; cell < density.length; cell++) {
            int x = cell % width;
            int y = cell / width;
            density[cell] = kinds[x][y] == Kind.FLUID ? LatticeCollisions.density(f[x][y]) : 0;
        }
        return density;
    }

    /** Returns the velocity along an axis: 0 for x, 1 for y. */
    double[] velocity(int axis) {
        double[] velocity = density();
        for (int cell = 0; cell < velocity.length; cell++) {
            double density = velocity[cell];
            velocity[cell] = density == 0
                    ? 0
                    : LatticeCollisions.momentum(f[cell % width][cell / width], axis) / density;
        }
        return velocity;
    }

    /** Returns the curl of the velocity at each cell, by differences between its neighbours. */
    double[] curl() {
        double[] ux = velocity(0);
        double[] uy = velocity(1);
        double[] curl = new double[width * height];
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                curl[y * width + x] =
                        slope(uy, y * width, 1, x, width) - slope(ux, x, width, y, height);
            }
        }
        return curl;
    }

    private static double slope(double[] values, int start, int step, int at, int size) {
        int before = at == 0 ? at : at - 1;
        int after = at == size - 1 ? at : at + 1;
        return (values[start + after * step] - values[start + before * step]) / (after - before);
    }
}
