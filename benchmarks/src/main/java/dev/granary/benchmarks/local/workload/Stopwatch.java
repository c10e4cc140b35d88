package dev.granary.benchmarks.local.workload;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Wall time and processor time of the thread that started it. On a shared machine, the wall time
 * includes other processes. The processor time excludes them, and all other threads of this
 * process.
 */
public final class Stopwatch {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final long wallStart = System.nanoTime();
    private final long processorStart = THREADS.getCurrentThreadCpuTime();

    /** The mean durations of some operations, in microseconds. */
    public record Micros(double wall, double processor) {}

    /**
     * Returns the mean duration of {@code operations} since the start. The caller is the thread
     * that started it.
     */
    public Micros each(int operations) {
        long processor = THREADS.getCurrentThreadCpuTime() - processorStart;
        return new Micros(
                (System.nanoTime() - wallStart) / 1e3 / operations, processor / 1e3 / operations);
    }
}
