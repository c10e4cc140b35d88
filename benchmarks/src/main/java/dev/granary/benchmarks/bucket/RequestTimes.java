package dev.granary.benchmarks.bucket;

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
 * How long requests of one node take on this machine, in seconds: measured by the tier's own
 * transport, with as many at once as a node sends.
 *
 * @param small objects of some bytes, one at a time: also how soon the server says no
 * @param loose entries of the workload, as many at once as warming reads alone
 * @param part parts of a pack, as many at once as warming reads
 */
record RequestTimes(Sample small, Sample loose, Sample part) {
    private static final String PREFIX = "fleet/";
    private static final int SMALL_BYTES = 100;
    private static final int LOOSE_OBJECTS = 128;
    private static final int PASSES = 6;

    /** Measures by {@code way}. */
    static RequestTimes measure(ServerRoute way, FleetPlan.Sizes sizes, long seed)
            throws IOException, InterruptedException {
        Duration longest = Duration.ofMinutes(2);
        S3Config config =
                way.config("").requestTimeout(longest).loadDeadline(longest).build();
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

    /** A request of a team's member. */
    private interface Request {
        GetResult send(int index);
    }

    /** The first pass warms up. */
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
