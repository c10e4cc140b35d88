package dev.granary.benchmarks.bucket.fleet;

import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.transport.ThroughputTurn;
import dev.granary.benchmarks.bucket.workload.BucketFiller;
import dev.granary.benchmarks.bucket.workload.ParallelWorkers;
import dev.granary.benchmarks.bucket.workload.Sample;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Durations of the requests of one node on this machine, in seconds. They are measured by the
 * transport of the tier, with the concurrency of a node.
 *
 * @param small small objects, one at a time; also the time of a refusal
 * @param loose entries of the workload, with the concurrency of unpacked warming
 * @param part parts of a pack, with the concurrency of warming
 */
record RequestTimes(Sample small, Sample loose, Sample part) {
    private static final String PREFIX = "fleet/";
    private static final int SMALL_BYTES = 100;
    private static final int LOOSE_OBJECTS = 128;
    private static final int PASSES = 6;

    /** Measures over that route. */
    static RequestTimes measure(ServerRoute route, FleetPlan.Sizes sizes, long seed)
            throws IOException, InterruptedException {
        Duration longest = Duration.ofMinutes(2);
        S3Config config =
                route.config("").requestTimeout(longest).loadDeadline(longest).build();
        SplittableRandom random = new SplittableRandom(seed);
        List<byte[]> loose = IntStream.range(0, LOOSE_OBJECTS)
                .mapToObj(_ -> bytes((int) sizes.meanEntry(), random))
                .toList();
        try (ObjectStore store = ObjectStoreFactory.open(config)) {
            BucketFiller.put(store, PREFIX + "small", bytes(SMALL_BYTES, random));
            BucketFiller.put(store, PREFIX + "pack", bytes((int) sizes.pack(), random));
            ParallelWorkers.run(
                    FleetPlan.LOOSE_AT_ONCE,
                    LOOSE_OBJECTS,
                    index -> BucketFiller.put(
                            store, ThroughputTurn.key(PREFIX + "loose", index), loose.get(index)));
            byte[][] memory = new byte[FleetPlan.PARTS_AT_ONCE][sizes.part()];
            return new RequestTimes(
                    seconds(1, _ -> store.get(PREFIX + "small", SMALL_BYTES)),
                    seconds(
                            FleetPlan.LOOSE_AT_ONCE,
                            index -> store.get(
                                    ThroughputTurn.key(PREFIX + "loose", index % LOOSE_OBJECTS),
                                    sizes.pack())),
                    seconds(
                            FleetPlan.PARTS_AT_ONCE,
                            index -> store.range(
                                    PREFIX + "pack",
                                    0,
                                    sizes.part(),
                                    memory[index % FleetPlan.PARTS_AT_ONCE])));
        }
    }

    /** One request of a worker. */
    private interface Request {
        GetResult send(int index);
    }

    /** Returns the durations of requests without those of the first pass, which warms up. */
    private static Sample seconds(int atOnce, Request request)
            throws IOException, InterruptedException {
        Sample seconds = new Sample();
        ParallelWorkers.run(atOnce, atOnce, member -> {
            for (int pass = 0;
                    pass <= PASSES * Math.max(1, FleetPlan.LOOSE_AT_ONCE / atOnce / 2);
                    pass++) {
                long start = System.nanoTime();
                GetResult result = request.send(member + pass * atOnce);
                double took = (System.nanoTime() - start) / 1e9;
                if (!(result instanceof GetResult.Found)) {
                    throw new IOException("An object of the calibration cannot be read: " + result);
                }
                if (pass > 0) {
                    synchronized (seconds) {
                        seconds.add(took);
                    }
                }
            }
        });
        return seconds;
    }

    private static byte[] bytes(int length, SplittableRandom random) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }
}
