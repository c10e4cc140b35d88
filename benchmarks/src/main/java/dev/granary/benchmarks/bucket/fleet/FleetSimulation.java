package dev.granary.benchmarks.bucket.fleet;

import dev.granary.benchmarks.bucket.workload.Sample;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Simulation of a fleet that warms from one prefix of a bucket, event by event. A granted request
 * takes as long as a measured one, drawn at random. A refused one is answered with 503 in the time
 * of a small object. Equal seeds give equal runs.
 */
final class FleetSimulation {
    private static final double MICROS = 1e6;

    private final FleetPlan plan;
    private final RetryBehaviour retries;
    private final Sample refusal;
    private final SplittableRandom random;
    private final int atOnce;
    private final TokenBucket limit = new TokenBucket(TokenBucket.PER_SECOND);
    private final EventQueue events = new EventQueue();
    private final int[] stages;
    private final int[] unsent;
    private final int[] unfinished;
    private final int[] attempts; // by slot; a node has one for each concurrent request
    private final boolean[] granted; // by slot: its next event ends its request
    private long[] perSecond = new long[64];
    private final Sample warmAt = new Sample();
    private long lastMicros;
    private long sent;
    private long refused;
    private long lost;

    /**
     * The figures of a run.
     *
     * @param seconds the time until the last node is warm
     * @param medianSeconds the time until half of the nodes are warm
     * @param requests the number of requests
     * @param peakPerSecond the maximum number of requests in one second
     * @param refusedPercent the requests that were answered with 503, in percent of all
     * @param lostPercent the requests that were abandoned, in percent of those needed
     */
    record Result(
            double seconds,
            double medianSeconds,
            long requests,
            long peakPerSecond,
            double refusedPercent,
            double lostPercent) {}

    FleetSimulation(FleetPlan plan, int nodes, RetryBehaviour retries, Sample refusal, long seed) {
        this.plan = plan;
        this.retries = retries;
        this.refusal = refusal;
        this.random = new SplittableRandom(seed);
        this.atOnce = plan.atOnce();
        this.stages = new int[nodes];
        this.unsent = new int[nodes];
        this.unfinished = new int[nodes];
        this.attempts = new int[nodes * atOnce];
        this.granted = new boolean[nodes * atOnce];
    }

    /** Runs the simulation. The nodes start at random times within {@code startSeconds}. */
    Result run(double startSeconds) {
        for (int node = 0; node < stages.length; node++) {
            begin(node, startSeconds == 0 ? 0 : micros(random.nextDouble(startSeconds)));
        }
        while (!events.isEmpty()) {
            long event = events.poll();
            lastMicros = EventQueue.micros(event);
            int slot = EventQueue.slot(event);
            if (granted[slot]) {
                granted[slot] = false;
                finished(slot / atOnce, slot, lastMicros);
            } else {
                send(slot, lastMicros);
            }
        }
        return new Result(
                lastMicros / MICROS,
                warmAt.median(),
                sent,
                Arrays.stream(perSecond).max().orElse(0),
                100.0 * refused / sent,
                100.0 * lost / (plan.requests() * stages.length));
    }

    private void begin(int node, long micros) {
        FleetPlan.Stage stage = plan.stages().get(stages[node]);
        int first = Math.min(stage.atOnce(), stage.requests());
        unfinished[node] = stage.requests();
        unsent[node] = stage.requests() - first;
        for (int i = 0; i < first; i++) {
            attempts[node * atOnce + i] = 0;
            events.add(micros, node * atOnce + i);
        }
    }

    private void send(int slot, long micros) {
        count(micros);
        if (limit.grants(micros)) {
            granted[slot] = true;
            events.add(micros + drawn(plan.stages().get(stages[slot / atOnce]).seconds()), slot);
            return;
        }
        refused++;
        long answered = micros + drawn(refusal);
        if (++attempts[slot] >= retries.attempts()) {
            lost++;
            granted[slot] = true; // an abandoned request ends as well
            events.add(answered, slot);
        } else {
            events.add(answered + micros(retries.pauseSeconds(attempts[slot], random)), slot);
        }
    }

    private void finished(int node, int slot, long micros) {
        unfinished[node]--;
        if (unsent[node] > 0) {
            unsent[node]--;
            attempts[slot] = 0;
            events.add(micros, slot);
        } else if (unfinished[node] == 0) {
            if (++stages[node] < plan.stages().size()) {
                begin(node, micros);
            } else {
                warmAt.add(micros / MICROS);
            }
        }
    }

    private void count(long micros) {
        sent++;
        int second = (int) (micros / MICROS);
        if (second >= perSecond.length) {
            perSecond = Arrays.copyOf(perSecond, 2 * second);
        }
        perSecond[second]++;
    }

    private long drawn(Sample seconds) {
        return micros(seconds.get(random.nextInt(seconds.count())));
    }

    private static long micros(double seconds) {
        return Math.round(seconds * MICROS);
    }
}
