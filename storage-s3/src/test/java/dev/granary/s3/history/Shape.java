package dev.granary.s3.history;

/** The way in which an acknowledgement, or another promise, was broken. */
enum Shape {
    /** A head is not made from the one before, or a new register does not start above the old. */
    I1_NOT_A_LINE,
    /** A head names an object that does not exist, or a process deletes one that is named. */
    I2_NAMED_AND_MISSING,
    /** A name that left a head came back. */
    I3_NAME_RETURNS,
    /** A head names an object below its boundary that the one before did not name. */
    I4_BELOW_BOUNDARY,
    /** A process with an empty directory does not find an acknowledged entry. */
    I5_LOST,
    /** A duplicate was reported before an entry was written. */
    REPORTED_BEFORE_WRITTEN,
    /** A process reports absence from a state that it has not confirmed for long. */
    ABSENT_BY_OLD_STATE,
    /** After compactions without faults the head names a missing pack. */
    STILL_NAMED,
    /** Without faults an entry cannot be published, or a target cannot be compacted. */
    STUCK,
    /** A node that is warmed without faults does not receive the entry. */
    NOT_WARMED
}
