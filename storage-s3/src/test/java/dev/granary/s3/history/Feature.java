package dev.granary.s3.history;

/**
 * A feature of a history. Each history has a random subset, so that no feature hides another (swarm
 * testing).
 */
enum Feature {
    /** Unpacked entries are published, too. */
    UNPACKED(0.6),
    /** An entry is added twice to one publisher of packs. */
    DUPLICATE_ADDS(0.2),
    /** Packs are compacted. */
    COMPACTION(0.7),
    /** A compaction may seal the target. */
    SEALING(0.25),
    /** Nodes are warmed. */
    WARMING(0.4),
    /** Machines cache manifests and indexes on disk, for later processes. */
    INDEX_CACHES(0.6),
    /** Machines share one index cache, as processes of one machine do. */
    SHARED_INDEX_CACHE(0.2),
    /** Wall clocks of machines are skewed. */
    SKEW(0.3),
    /** Hours and days pass. */
    DAYS(0.7),
    /** A process may be suspended between any two requests, for days. */
    SUSPENSION(0.4),
    /** A lifecycle rule removes old objects. */
    RULE(0.4),
    /** The rule removes some of the old objects at a time, in any order. */
    RAGGED_RULE(0.3),
    /** The owner removes objects at random. */
    REMOVAL(0.3),
    /** Objects are truncated in the bucket. */
    DAMAGE(0.2),
    /** The server supports no condition but create-if-absent. */
    CREATE_ONLY(0.3),
    /** The server, or a proxy, strips user metadata from all objects. */
    STRIPPED_METADATA(0.08),
    /** Some machines may not list, and receive 403 for absent objects. */
    NO_LISTING(0.15),
    /** Requests fail, with true or false responses. */
    FAULTS(0.7);

    private final double probability;

    Feature(double probability) {
        this.probability = probability;
    }

    double probability() {
        return probability;
    }
}
