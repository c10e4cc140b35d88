package dev.granary.cache.fuzz;

import com.sun.management.ThreadMXBean;
import dev.granary.testing.TestSeed;
import java.lang.management.ManagementFactory;
import java.util.HexFormat;
import java.util.SplittableRandom;

/**
 * Runs a parser on mutated inputs. An input fails if the parser throws what it does not document, an {@link Error} included, or allocates more heap
 * than a bound that depends on the input's length alone. The message has the input in hexadecimal digits.
 *
 * <p>The number of inputs is the system property {@code granary.fuzz.runs}; the build takes {@value #USUAL_RUNS} for each parser.
 */
public final class Fuzzer {
    /** How many inputs each parser gets in the build. */
    public static final int USUAL_RUNS = 5_000;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int SHOWN_BYTES = 4096;
    private static final int TOLD_INPUTS = 250_000; // a campaign that is ended has told how far it came

    private final FuzzTarget target;
    private long largest;

    private Fuzzer(FuzzTarget target) {
        this.target = target;
    }

    /** Runs {@code granary.fuzz.runs} inputs. */
    public static void run(FuzzTarget target) {
        run(target, Long.getLong("granary.fuzz.runs", USUAL_RUNS));
    }

    /** Runs some inputs; prints how many, and the most that one allocated. */
    public static void run(FuzzTarget target, long runs) {
        new Fuzzer(target).all(runs);
    }

    private void all(long runs) {
        SplittableRandom random = TestSeed.random("fuzz " + target.name());
        Mutator mutator = new Mutator(target, random);
        for (byte[] seed : target.seeds()) {
            measured(seed.clone()); // loads the classes, too
            check(seed.clone());
        }
        long start = THREADS.getCurrentThreadCpuTime();
        for (long i = 1; i <= runs; i++) {
            check(mutator.next());
            if (i % TOLD_INPUTS == 0 && i < runs) {
                tell(i, start);
            }
        }
        tell(runs, start);
    }

    private void tell(long inputs, long start) {
        System.out.printf("fuzz %s: %,d inputs in %,d ms of processor time, at most %,d bytes allocated beyond %d a byte%n", target.name(), inputs,
                (THREADS.getCurrentThreadCpuTime() - start) / 1_000_000, largest, target.bytesPerByte());
    }

    private void check(byte[] input) {
        long bound = FuzzTarget.BASE_BYTES + (long) target.bytesPerByte() * input.length;
        long allocated = measured(input.clone());
        if (allocated > bound) {
            allocated = Math.min(allocated, measured(input.clone())); // the first time may have loaded classes
        }
        if (allocated > bound) {
            throw new AssertionError(target.name() + " allocates " + allocated + " bytes for " + shown(input));
        }
        largest = Math.max(largest, allocated - (long) target.bytesPerByte() * input.length);
    }

    private long measured(byte[] input) {
        byte[] shown = input.clone();
        long before = THREADS.getCurrentThreadAllocatedBytes();
        try {
            target.parser().parse(input);
        } catch (Throwable e) {
            if (target.documented().stream().noneMatch(type -> type.isInstance(e))) {
                throw new AssertionError(target.name() + " throws " + e + " for " + shown(shown), e);
            }
        }
        return THREADS.getCurrentThreadAllocatedBytes() - before;
    }

    private static String shown(byte[] input) {
        int length = Math.min(input.length, SHOWN_BYTES);
        return input.length + " bytes " + HexFormat.of().formatHex(input, 0, length) + (length < input.length ? "..." : "");
    }
}
