package dev.granary.benchmarks.local;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Wall time and processor time of the thread that started it. On a machine that others use too, the
 * wall time of a pass holds what they took; the processor time does not, but knows nothing of what
 * happens in other threads.
 */
final class Stopwatch {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final long wallStart = System.nanoTime();
    private final long processorStart = THREADS.getCurrentThreadCpuTime();

    /** What each of some operations took, in microseconds. */
    record Micros(double wall, double processor) {}

    /** What each of {@code operations} took since the start; on the thread that started it. */
    Micros each(int operations) {
        long processor = THREADS.getCurrentThreadCpuTime() - processorStart;
        return new Micros(
                (System.nanoTime() - wallStart) / 1e3 / operations, processor / 1e3 / operations);
    }
}
