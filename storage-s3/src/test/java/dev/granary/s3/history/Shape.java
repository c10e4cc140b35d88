package dev.granary.s3.history;

/** How an acknowledgement, or another promise, proved to be untrue; the names with a number are findings of a review. */
enum Shape {
    /** The pack is gone by a rule, or cut, the manifest names it, a publisher said "there already". */
    B1_PACK_NEVER_PUBLISHED_AGAIN,
    /** A reader that may not list does not find it. */
    B2_READER_WITHOUT_LISTING,
    /** A publisher has removed a pack that the manifest names. */
    B3_COMMITTED_PACK_REMOVED,
    /** The newest manifest does not name a pack that an earlier one named, and nobody replaced it. */
    B4_COMMITTED_PACK_UNNAMED,
    /** Readers do not come to the newest manifest. */
    B5_NEWEST_MANIFEST_NOT_FOUND,
    /** Nobody has created the hint, without which readers look for no manifest. */
    HINT_NEVER_CREATED,
    /** An entry that was refused for a passing reason was given up. */
    B6_GIVEN_UP_AFTER_REFUSAL,
    /** A process concludes "absent" from a state that it has not confirmed for long. */
    B7_ABSENT_BY_OLD_STATE,
    /** An entry lies alone in a target that says that nothing does. */
    B8_ALONE_IN_SEALED_TARGET,
    /** A pack was removed before a manifest came to name it. */
    B9_NAMED_AFTER_REMOVAL,
    /** "There already" was said before anything was written. */
    B11_SAID_BEFORE_WRITTEN,
    /** "There already" was said of a damaged entry. */
    S3_DAMAGED_SAID_TO_BE_THERE,
    /** A server that strips metadata has no working packs. */
    S4_METADATA_STRIPPED,
    /** After a compaction without trouble the manifest names what is not there. */
    NAMED_AND_MISSING,
    /** Without trouble an entry cannot be published, or a target not be compacted. */
    STUCK,
    /** A node that is warmed without trouble does not get it. */
    NOT_WARMED,
    /** "There already" was said after a look-up that believed an older manifest, or the HEAD of a damaged entry. */
    SAID_BY_LOOK_UP,
    /** A look-up with an empty directory is unavailable, since the hint names no manifest. */
    LOOK_UP_UNAVAILABLE,
    /** Anything else. */
    OTHER
}
