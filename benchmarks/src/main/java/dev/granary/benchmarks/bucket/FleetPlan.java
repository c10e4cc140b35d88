package dev.granary.benchmarks.bucket;

import java.util.List;

/**
 * What one node asks for until it is warm: stages, one after the other.
 *
 * @param label its name on the terminal
 * @param stages what is asked
 * @param bytes how many bytes come
 */
record FleetPlan(String label, List<Stage> stages, long bytes) {
    /** How many entries that lie alone warming reads at once. */
    static final int LOOSE_AT_ONCE = 32;

    /** How many parts of packs warming reads at once. */
    static final int PARTS_AT_ONCE = 8;

    // the hint, whether there are the manifest that it names and a newer one, the manifest
    private static final int MANIFEST_REQUESTS = 4;
    private static final int LISTED_PER_PAGE = 1000;
    private static final long FULL_PACK_BYTES = 32 << 20;
    private static final long MIN_PART_BYTES = 8 << 20;
    private static final long MAX_PART_BYTES = 16 << 20;

    /**
     * Requests of one kind.
     *
     * @param requests how many
     * @param atOnce how many at once, at most
     * @param seconds how long each takes
     */
    record Stage(int requests, int atOnce, Sample seconds) {}

    /**
     * How large things are.
     *
     * @param kernels how many entries a node needs
     * @param bytes their bytes
     */
    record Sizes(int kernels, long bytes) {
        long meanEntry() {
            return bytes / kernels;
        }

        int packs() {
            return (int) Math.ceilDiv(bytes, FULL_PACK_BYTES);
        }

        /** A full pack, or the only one. */
        long pack() {
            return Math.min(bytes, FULL_PACK_BYTES);
        }

        /** A part that warming reads at once: never more than a pack. */
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

    /** All entries in packs: manifest, indexes, parts. */
    static FleetPlan packed(Sizes sizes, RequestTimes measured) {
        return new FleetPlan(
                "packed",
                List.of(
                        new Stage(MANIFEST_REQUESTS, 1, measured.small()),
                        new Stage(sizes.packs(), PARTS_AT_ONCE, measured.loose()),
                        new Stage(sizes.parts(), PARTS_AT_ONCE, measured.part())),
                sizes.bytes());
    }

    /** All entries alone: a listing, and a request for each. */
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

    /** How many requests a node needs if none is turned down. */
    long requests() {
        return stages.stream().mapToLong(Stage::requests).sum();
    }

    /** The most requests that a node has under way. */
    int atOnce() {
        return stages.stream().mapToInt(Stage::atOnce).max().orElseThrow();
    }
}
