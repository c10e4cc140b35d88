package dev.granary.s3.embedded;

/** What the embedded server does with the conditions of a PUT: one real server or another does each of these. */
public enum ConditionMode {
    /** A condition and its write are one step: what S3 promises, and what the server does unless it is told otherwise. */
    KEPT,
    /** The write is done, whatever the condition says. Only the replacement of an object that is not there still fails. */
    IGNORED,
    /** The condition is looked at first, and the write is done some time later: of several at once, several may win. */
    RACY
}
