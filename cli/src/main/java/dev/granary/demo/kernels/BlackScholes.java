package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * Price, delta, gamma, vega, theta and rho of European calls and puts (Black and Scholes, "The
 * Pricing of Options and Corporate Liabilities"; Merton for the dividend yield). The reference
 * differentiates the price and integrates the normal density numerically.
 */
final class BlackScholes {
    private static final int COUNT = 157;
    private static final double INTEGRATION_STEPS = 64;
    private static final Quantity[] QUANTITIES = {
        new Quantity("price", new Tolerance(5e-6, 1e-4)),
        new Quantity("delta", new Tolerance(5e-6, 3e-6)),
        new Quantity("gamma", new Tolerance(2e-5, 2e-7)),
        new Quantity("vega", new Tolerance(1e-5, 2e-4)),
        new Quantity("theta", new Tolerance(1e-5, 1e-4)),
        new Quantity("rho", new Tolerance(5e-6, 2e-4)),
    };

    /** A result of the kernel and the tolerance of its comparison. */
    private record Quantity(String name, Tolerance tolerance) {}

    /** The terms of an option; {@code sign} is 1 for a call and -1 for a put. */
    private record Terms(
            double sign,
            double spot,
            double strike,
            double years,
            double rate,
            double yield,
            double volatility) {
        Terms(double sign, float[] f) {
            this(sign, f[0], f[1], f[2], f[3], f[4], f[5]);
        }

        Terms spotUp(double by) {
            return new Terms(sign, spot + by, strike, years, rate, yield, volatility);
        }

        Terms yearsUp(double by) {
            return new Terms(sign, spot, strike, years + by, rate, yield, volatility);
        }

        Terms rateUp(double by) {
            return new Terms(sign, spot, strike, years, rate + by, yield, volatility);
        }

        Terms volatilityUp(double by) {
            return new Terms(sign, spot, strike, years, rate, yield, volatility + by);
        }

        double price() {
            double spread = volatility * Math.sqrt(years);
            double forward = spot * Math.exp((rate - yield) * years);
            double d1 = Math.log(forward / strike) / spread + spread / 2;
            return sign
                    * Math.exp(-rate * years)
                    * (forward * cumulative(sign * d1) - strike * cumulative(sign * (d1 - spread)));
        }
    }

    private BlackScholes() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("black-scholes", "black_scholes.cl")
                .launching("black_scholes", Geometry.of(192).local(64))
                .checkedBy(BlackScholes::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float[][] options = new float[COUNT][];
        float[] flat = new float[COUNT * 6];
        for (int i = 0; i < COUNT; i++) {
            options[i] = new float[] {
                random.nextFloat(60, 140),
                random.nextFloat(60, 140),
                random.nextFloat(0.25f, 3),
                random.nextFloat(0.01f, 0.08f),
                random.nextFloat(0, 0.04f),
                random.nextFloat(0.15f, 0.6f)
            };
            System.arraycopy(options[i], 0, flat, i * 6, 6);
        }
        DeviceBuffer calls = harness.floats(QUANTITIES.length * COUNT);
        DeviceBuffer puts = harness.floats(QUANTITIES.length * COUNT);
        harness.launch("black_scholes", harness.input(flat), COUNT, calls, puts);

        ResultComparison comparison = new ResultComparison();
        compare(comparison, "call ", 1, options, KernelHarness.floatsOf(calls));
        compare(comparison, "put ", -1, options, KernelHarness.floatsOf(puts));
        return comparison.result();
    }

    private static void compare(
            ResultComparison comparison,
            String kind,
            double sign,
            float[][] options,
            float[] actual) {
        double[][] expected = new double[QUANTITIES.length][COUNT];
        for (int i = 0; i < COUNT; i++) {
            double[] values = reference(new Terms(sign, options[i]));
            for (int q = 0; q < QUANTITIES.length; q++) {
                expected[q][i] = values[q];
            }
        }
        for (int q = 0; q < QUANTITIES.length; q++) {
            float[] ofQuantity = Arrays.copyOfRange(actual, q * COUNT, (q + 1) * COUNT);
            comparison.floats(
                    kind + QUANTITIES[q].name(),
                    expected[q],
                    ofQuantity,
                    QUANTITIES[q].tolerance());
        }
    }

    private static double[] reference(Terms t) {
        double spotStep = 0.02;
        double step = 1e-4;
        double price = t.price();
        double up = t.spotUp(spotStep).price();
        double down = t.spotUp(-spotStep).price();
        return new double[] {
            price,
            (up - down) / (2 * spotStep),
            (up - 2 * price + down) / (spotStep * spotStep),
            (t.volatilityUp(step).price() - t.volatilityUp(-step).price()) / (2 * step),
            -(t.yearsUp(step).price() - t.yearsUp(-step).price()) / (2 * step),
            (t.rateUp(step).price() - t.rateUp(-step).price()) / (2 * step),
        };
    }

    /**
     * Returns the normal distribution function by Simpson's rule over the density from zero to
     * {@code x}.
     */
    private static double cumulative(double x) {
        double width = x / INTEGRATION_STEPS;
        double sum = density(0) + density(x);
        for (int i = 1; i < INTEGRATION_STEPS; i++) {
            sum += (i % 2 == 0 ? 2 : 4) * density(i * width);
        }
        return 0.5 + sum * width / 3;
    }

    private static double density(double x) {
        return Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    }
}
