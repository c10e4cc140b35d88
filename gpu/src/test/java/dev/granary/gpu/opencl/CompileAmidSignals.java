package dev.granary.gpu.opencl;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Program that compiles repeatedly while another thread causes null pointer exceptions, each of
 * which is a signal for the JVM (SIGSEGV). Each compilation meets a few signals at most: the engine
 * repeats it a bounded number of times, whatever the speed of the machine.
 */
public final class CompileAmidSignals {
    private static final int SIGNALS_PER_PROGRAM = 4;

    private static int seen;

    private CompileAmidSignals() {}

    private static final class Box {
        int value;
    }

    /** Runs with the number of programs, and the milliseconds between two signals. */
    public static void main(String[] arguments) throws Exception {
        int times = Integer.parseInt(arguments[0]);
        long pauseMillis = Long.parseLong(arguments[1]);
        AtomicBoolean isDone = new AtomicBoolean();
        AtomicInteger signals = new AtomicInteger();
        Box[] boxes = {new Box(), null};
        for (int i = 0; i < 100_000; i++) {
            // until it is compiled: the interpreter checks for null before it reads
            seen += read(boxes[0]);
        }
        Thread nulls = Thread.ofPlatform().start(() -> {
            while (!isDone.get()) {
                if (signals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                    seen += read(boxes[1]);
                }
                pause(pauseMillis);
            }
        });
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
            for (int i = 0; i < times; i++) {
                signals.set(SIGNALS_PER_PROGRAM);
                engine.create(KernelDescriptor.builder(engine.target(), "shift" + i)
                        .source("kernel void shift" + i
                                + "(global float* out) { out[get_global_id(0)] += " + i + "; }")
                        .build());
            }
            System.out.println("compiled=" + times);
        } catch (CompileException e) {
            System.out.println("failed=" + e.getMessage());
        } finally {
            isDone.set(true);
            nulls.join();
        }
        System.out.println("nulls=" + seen);
    }

    private static int read(Box box) {
        try {
            return box.value;
        } catch (NullPointerException e) {
            return 1;
        }
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
