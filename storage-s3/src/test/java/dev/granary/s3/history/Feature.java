package dev.granary.s3.history;

/** What a history may have; each has a random part of it on, so that no part hides another (swarm testing). */
enum Feature {
    /** Entries are published alone, too. */
    ALONE(0.6),
    /** An entry is handed to one publisher of packs twice. */
    TWICE(0.2),
    /** Packs are compacted. */
    COMPACTION(0.7),
    /** A compaction may seal the target. */
    SEALING(0.25),
    /** Nodes are warmed. */
    WARMING(0.4),
    /** Machines keep manifests and indexes on their disks, for later processes. */
    SHELVES(0.6),
    /** They share one such disk: processes of one machine. */
    SHARED_SHELF(0.2),
    /** Wall clocks of machines are off. */
    SKEW(0.3),
    /** Hours and days pass. */
    DAYS(0.7),
    /** A process may be suspended between any two requests, for days. */
    SUSPENSION(0.4),
    /** A lifecycle rule removes what is old. */
    RULE(0.4),
    /** The rule takes its time: of what is old it removes some, in any order. */
    RAGGED_RULE(0.3),
    /** Somebody removes objects at random. */
    REMOVAL(0.3),
    /** Objects are cut in the bucket. */
    DAMAGE(0.2),
    /** The server knows no condition but create-if-absent. */
    CREATE_ONLY(0.3),
    /** The server, or a proxy before it, strips user metadata from all objects. */
    STRIPPED_METADATA(0.08),
    /** Some machines may not list, and are answered 403 for what is absent. */
    NO_LISTING(0.15),
    /** Requests fail, honestly or by lies. */
    TROUBLE(0.7);

    private final double probability;

    Feature(double probability) {
        this.probability = probability;
    }

    double probability() {
        return probability;
    }
}
