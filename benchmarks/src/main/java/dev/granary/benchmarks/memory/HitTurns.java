package dev.granary.benchmarks.memory;

import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

/**
 * What hits of a candidate and of the yardstick took, which take turns: one has the even
 * milliseconds, the other the odd ones, and all threads go by the same clock. Whatever else a
 * machine does, in bursts of seconds, so meets both alike, and their ratio is not touched.
 */
@State(Scope.Thread)
@AuxCounters(AuxCounters.Type.EVENTS)
public class HitTurns {
    /** So many hits in a row are timed together. */
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

    /** A batch of whose turn it is. Two loops, for each to be compiled for what it hits. */
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
