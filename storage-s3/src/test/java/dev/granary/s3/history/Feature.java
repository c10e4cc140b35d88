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
    /** Packs are compacted, and unused ones removed. */
    COMPACTION(0.75),
    /** A compaction may leave out an id. */
    LEAVING_OUT(0.2),
    /** Uses are noted, entries pinned, and what is neither used nor pinned is collected. */
    COLLECTION(0.4),
    /** A compaction may adopt packs that no head names. */
    ADOPTION(0.3),
    /** The target has almost as many recent packs as a head takes. */
    NEARLY_FULL(0.1),
    /** Nodes are warmed. */
    WARMING(0.4),
    /** Machines cache heads and indexes on disk, for later processes. */
    INDEX_CACHES(0.6),
    /** Machines share one index cache, as processes of one machine do. */
    SHARED_INDEX_CACHE(0.2),
    /** Wall clocks of machines are skewed. */
    SKEW(0.3),
    /** Some responses have the date of a second clock of the server, 25 hours ahead. */
    TWO_CLOCKS(0.15),
    /** Hours and days pass. */
    DAYS(0.7),
    /** A process may be suspended between any two requests, for days. */
    SUSPENSION(0.5),
    /** The owner removes objects at random, but not the head. */
    REMOVAL(0.3),
    /** Objects are truncated or changed in the bucket, with or without another ETag. */
    DAMAGE(0.2),
    /** The server gives the same wrong answer for an object until it is written again. */
    LIES(0.15),
    /** The head is removed, emptied, or set back to an earlier one. */
    HEAD_LOSS(0.2),
    /** The server supports no condition but create-if-absent. */
    CREATE_ONLY(0.08),
    /** The server ignores If-Match, in spite of the verdict. */
    IGNORED(0.08),
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
