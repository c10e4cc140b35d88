package dev.granary.s3.history;

/** The way in which an acknowledgement, or another promise, was broken. */
enum Shape {
    /**
     * A rule removed the pack, or it was truncated; the manifest names it, and a publisher reported
     * a duplicate.
     */
    B1_PACK_NEVER_PUBLISHED_AGAIN,
    /** A reader that may not list does not find the entry. */
    B2_READER_WITHOUT_LISTING,
    /** A publisher has removed a pack that the manifest names. */
    B3_COMMITTED_PACK_REMOVED,
    /**
     * The newest manifest does not name a pack that an earlier one named, and that was not
     * replaced.
     */
    B4_COMMITTED_PACK_UNNAMED,
    /** Readers do not reach the newest manifest. */
    B5_NEWEST_MANIFEST_NOT_FOUND,
    /** The hint was never created, without which readers look for no manifest. */
    HINT_NEVER_CREATED,
    /** An entry that was refused for a temporary reason was given up. */
    B6_GIVEN_UP_AFTER_REFUSAL,
    /** A process reports absence from a state that it has not confirmed for long. */
    B7_ABSENT_BY_OLD_STATE,
    /** An unpacked entry exists in a sealed target. */
    B8_UNPACKED_IN_SEALED_TARGET,
    /** A pack was removed before a manifest came to name it. */
    B9_NAMED_AFTER_REMOVAL,
    /** A duplicate was reported before an entry was written. */
    B11_REPORTED_BEFORE_WRITTEN,
    /** A duplicate was reported for a damaged entry. */
    S3_DAMAGED_REPORTED_AS_STORED,
    /** A server that strips metadata has no working packs. */
    S4_METADATA_STRIPPED,
    /** After a compaction without faults the manifest names a missing pack. */
    NAMED_AND_MISSING,
    /** Without faults an entry cannot be published, or a target cannot be compacted. */
    STUCK,
    /** A node that is warmed without faults does not receive the entry. */
    NOT_WARMED,
    /**
     * A duplicate was reported after a lookup in an older manifest, or the HEAD of a damaged entry.
     */
    REPORTED_BY_LOOKUP,
    /** A lookup with an empty directory is unavailable, since the hint names no manifest. */
    LOOKUP_UNAVAILABLE,
    /** Any other violation. */
    OTHER
}
