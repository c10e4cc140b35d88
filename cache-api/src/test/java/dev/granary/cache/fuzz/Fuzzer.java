package dev.granary.cache.fuzz;

import com.sun.management.ThreadMXBean;

import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import java.lang.management.ManagementFactory;
import java.util.HexFormat;
import java.util.SplittableRandom;

/**
 * A fuzzer that runs a parser on mutated inputs. An input fails if the parser throws an
 * undocumented exception or {@link Error}, or allocates more heap than permitted. The limit depends
 * only on the input's length. The message contains the input in hexadecimal digits.
 */
public final class Fuzzer {
    /** The number of inputs per parser in the build. */
    static final int DEFAULT_RUNS = 2_000;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int SHOWN_BYTES = 4096;
    // inputs; for campaigns that are aborted
    private static final int REPORT_INTERVAL = 250_000;

    private final FuzzTarget target;
    private long largest;

    private Fuzzer(FuzzTarget target) {
        this.target = target;
    }

    /** Runs the number of inputs of a parser in memory. */
    public static void run(FuzzTarget target) {
        run(target, TestRuns.count(DEFAULT_RUNS));
    }

    /** Runs {@code runs} inputs; prints their number and the greatest allocation of one. */
    public static void run(FuzzTarget target, long runs) {
        new Fuzzer(target).runAll(runs);
    }

    private void runAll(long runs) {
        SplittableRandom random = TestSeed.random("fuzz " + target.name());
        Mutator mutator = new Mutator(target, random);
        for (byte[] seed : target.seeds()) {
            allocation(seed.clone()); // loads classes
            check(seed.clone());
        }
        long start = THREADS.getCurrentThreadCpuTime();
        for (long i = 1; i <= runs; i++) {
            check(mutator.next());
            if (i % REPORT_INTERVAL == 0 && i < runs) {
                report(i, start);
            }
        }
        report(runs, start);
    }

    private void report(long inputs, long start) {
        System.out.printf(
                "fuzz %s: %,d inputs in %,d ms of processor time, at most %,d bytes allocated"
                        + " beyond %d a byte%n",
                target.name(),
                inputs,
                (THREADS.getCurrentThreadCpuTime() - start) / 1_000_000,
                largest,
                target.bytesPerByte());
    }

    private void check(byte[] input) {
        long bound = FuzzTarget.BASE_BYTES + (long) target.bytesPerByte() * input.length;
        long allocated = allocation(input.clone());
        if (allocated > bound) {
            // The first run may have loaded classes.
            allocated = Math.min(allocated, allocation(input.clone()));
        }
        if (allocated > bound) {
            throw new AssertionError(
                    target.name() + " allocates " + allocated + " bytes for " + shown(input));
        }
        largest = Math.max(largest, allocated - (long) target.bytesPerByte() * input.length);
    }

    private long allocation(byte[] input) {
        byte[] shown = input.clone();
        long before = THREADS.getCurrentThreadAllocatedBytes();
        try {
            target.parser().parse(input);
        } catch (Throwable e) {
            if (target.documented().stream().noneMatch(type -> type.isInstance(e))) {
                throw new AssertionError(
                        target.name() + " throws " + e + " for " + shown(shown), e);
            }
        }
        return THREADS.getCurrentThreadAllocatedBytes() - before;
    }

    private static String shown(byte[] input) {
        int length = Math.min(input.length, SHOWN_BYTES);
        return input.length + " bytes " + HexFormat.of().formatHex(input, 0, length)
                + (length < input.length ? "..." : "");
    }
}
