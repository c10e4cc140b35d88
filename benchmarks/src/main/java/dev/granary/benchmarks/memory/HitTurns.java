package dev.granary.benchmarks.memory;

import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

/**
 * The times of hits of a candidate and of the yardstick, which take turns. One has the even
 * milliseconds, the other the odd ones, and all threads use one clock. Bursts of other work on the
 * machine affect both alike, so their ratio is stable.
 */
@State(Scope.Thread)
@AuxCounters(AuxCounters.Type.EVENTS)
public class HitTurns {
    /** The number of hits that are timed together. */
    static final int BATCH = 1024;

    private static final int TURN_BITS = 20; // of the nanoseconds

    /** Of the yardstick. */
    public long yardstickBatches;

    /** Of the yardstick. */
    public long yardstickNanos;

    /** Of the candidate. */
    public long batches;

    /** Of the candidate. */
    public long nanos;

    /**
     * Runs a batch of the cache whose turn it is. There are two loops, so that each is compiled for
     * one cache.
     */
    void take(
            HitBenchmark.Hit yardstick,
            HitBenchmark.Hit candidate,
            HitBenchmark.Asked asked,
            Blackhole hole) {
        long start = System.nanoTime();
        if ((start >> TURN_BITS & 1) == 0) {
            for (int i = 0; i < BATCH; i++) {
                hole.consume(yardstick.next(asked));
            }
            yardstickNanos += System.nanoTime() - start;
            yardstickBatches++;
        } else {
            for (int i = 0; i < BATCH; i++) {
                hole.consume(candidate.next(asked));
            }
            nanos += System.nanoTime() - start;
            batches++;
        }
    }
}
