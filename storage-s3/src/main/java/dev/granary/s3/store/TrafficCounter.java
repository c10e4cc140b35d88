package dev.granary.s3.store;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * The bytes that move between this process and one bucket. A transport reports them; the layers above and tools that show progress read them. Thread-safe.
 */
public final class TrafficCounter {
    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicLong progress = new AtomicLong();
    private final LongAdder received = new LongAdder();
    private volatile long lastNanos = System.nanoTime();

    /** No request so far. */
    public TrafficCounter() {}

    void begin() {
        if (underWay.getAndIncrement() == 0) {
            lastNanos = System.nanoTime();
        }
    }

    void moved() {
        lastNanos = System.nanoTime();
    }

    void came(long bytes) {
        received.add(bytes);
        lastNanos = System.nanoTime();
    }

    /** Notes that the bucket is alive: a request moved as many bytes as it must within its stall limit, or brought an answer. */
    public void progressed() {
        progress.incrementAndGet();
    }

    void end() {
        underWay.decrementAndGet();
    }

    /** How many requests are under way. */
    int underWay() {
        return underWay.get();
    }

    /** A number that changes whenever the bucket proves to be alive. */
    public long progress() {
        return progress.get();
    }

    /** How many bytes of bodies have come so far. */
    public long receivedBytes() {
        return received.sum();
    }

    /** How long requests have been under way without a byte in either direction; zero while none is under way. For tools that show progress. */
    public Duration quiet() {
        return underWay() == 0 ? Duration.ZERO : Duration.ofNanos(Math.max(0, System.nanoTime() - lastNanos));
    }
}
