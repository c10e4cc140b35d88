package dev.granary.s3.store;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counter of bytes between this process and one bucket. A transport updates it; upper layers and
 * progress displays read it. Thread-safe.
 */
public final class TrafficCounter {
    private final AtomicInteger inProgress = new AtomicInteger();
    private final AtomicLong progress = new AtomicLong();
    private final LongAdder received = new LongAdder();
    private volatile long lastNanos = System.nanoTime();

    /** Creates a counter without requests. */
    public TrafficCounter() {}

    void begin() {
        if (inProgress.getAndIncrement() == 0) {
            lastNanos = System.nanoTime();
        }
    }

    void moved() {
        lastNanos = System.nanoTime();
    }

    void received(long bytes) {
        received.add(bytes);
        lastNanos = System.nanoTime();
    }

    /**
     * Records progress: a request moved the bytes required within its stall limit, or received a
     * response.
     */
    public void progressed() {
        progress.incrementAndGet();
    }

    void end() {
        inProgress.decrementAndGet();
    }

    /** Returns the number of requests in progress. */
    int inProgress() {
        return inProgress.get();
    }

    /** Returns a number that changes with each progress. */
    public long progress() {
        return progress.get();
    }

    /** Returns the number of bytes of bodies received so far. */
    public long receivedBytes() {
        return received.sum();
    }

    /**
     * Returns the time since the last byte in either direction while requests are in progress, else
     * zero. For progress displays.
     */
    public Duration quiet() {
        return inProgress() == 0
                ? Duration.ZERO
                : Duration.ofNanos(Math.max(0, System.nanoTime() - lastNanos));
    }
}
