package dev.granary.benchmarks.bucket.fleet;

import dev.granary.benchmarks.bucket.workload.Sample;

import java.util.List;

/**
 * The requests of one node until it is warm: stages, one after the other.
 *
 * @param label the name on the terminal
 * @param stages the stages
 * @param bytes the received bytes
 */
record FleetPlan(String label, List<Stage> stages, long bytes) {
    /** The number of unpacked entries that warming reads concurrently. */
    static final int LOOSE_AT_ONCE = 32;

    /** The number of parts of packs that warming reads concurrently. */
    static final int PARTS_AT_ONCE = 8;

    // the hint, a check for the manifest that it names, one for a newer one, and the manifest
    private static final int MANIFEST_REQUESTS = 4;
    private static final int LISTED_PER_PAGE = 1000;
    private static final long FULL_PACK_BYTES = 32 << 20;
    private static final long MIN_PART_BYTES = 8 << 20;
    private static final long MAX_PART_BYTES = 16 << 20;

    /**
     * Requests of one kind.
     *
     * @param requests their number
     * @param atOnce the maximum number of concurrent ones
     * @param seconds the duration of each
     */
    record Stage(int requests, int atOnce, Sample seconds) {}

    /**
     * The sizes of a plan.
     *
     * @param kernels the number of entries that a node needs
     * @param bytes their bytes
     */
    record Sizes(int kernels, long bytes) {
        long meanEntry() {
            return bytes / kernels;
        }

        int packs() {
            return (int) Math.ceilDiv(bytes, FULL_PACK_BYTES);
        }

        /** Returns the size of a full pack, or of the only one. */
        long pack() {
            return Math.min(bytes, FULL_PACK_BYTES);
        }

        /** Returns the size of a part that warming reads at once: at most a pack. */
        int part() {
            return (int) Math.min(
                    pack(),
                    Math.clamp(bytes / (2L * PARTS_AT_ONCE), MIN_PART_BYTES, MAX_PART_BYTES));
        }

        int parts() {
            return (int) (bytes / FULL_PACK_BYTES * Math.ceilDiv(FULL_PACK_BYTES, part())
                    + Math.ceilDiv(bytes % FULL_PACK_BYTES, part()));
        }
    }

    /** Returns the plan for packs: manifest, indexes, parts. */
    static FleetPlan packed(Sizes sizes, RequestTimes measured) {
        return new FleetPlan(
                "packed",
                List.of(
                        new Stage(MANIFEST_REQUESTS, 1, measured.small()),
                        new Stage(sizes.packs(), PARTS_AT_ONCE, measured.loose()),
                        new Stage(sizes.parts(), PARTS_AT_ONCE, measured.part())),
                sizes.bytes());
    }

    /** Returns the plan for unpacked entries: a listing, and a request for each. */
    static FleetPlan loose(Sizes sizes, RequestTimes measured) {
        return new FleetPlan(
                "loose",
                List.of(
                        new Stage(
                                Math.ceilDiv(sizes.kernels(), LISTED_PER_PAGE),
                                1,
                                measured.loose()),
                        new Stage(sizes.kernels(), LOOSE_AT_ONCE, measured.loose())),
                sizes.bytes());
    }

    /** Returns the number of requests of a node if none is refused. */
    long requests() {
        return stages.stream().mapToLong(Stage::requests).sum();
    }

    /** Returns the maximum number of concurrent requests of a node. */
    int atOnce() {
        return stages.stream().mapToInt(Stage::atOnce).max().orElseThrow();
    }
}
