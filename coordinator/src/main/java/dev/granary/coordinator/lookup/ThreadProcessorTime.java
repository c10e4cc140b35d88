package dev.granary.coordinator.lookup;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Optional;

/** The processor time of the current thread, which a load of the machine does not lengthen. */
final class ThreadProcessorTime {
    private ThreadProcessorTime() {}

    /** Returns the time so far; empty for a virtual thread, or if the JVM does not measure it. */
    static Optional<Duration> now() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        if (Thread.currentThread().isVirtual() || !threads.isCurrentThreadCpuTimeSupported()) {
            return Optional.empty();
        }
        long nanos = threads.getCurrentThreadCpuTime();
        return nanos < 0 ? Optional.empty() : Optional.of(Duration.ofNanos(nanos));
    }
}
