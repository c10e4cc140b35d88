package dev.granary.s3;

/**
 * What may be relied on in a bucket. For the parts of the tier that write: a question may send requests, once per process, so nothing that
 * only looks up or opens asks. Thread-safe.
 */
interface Capabilities {
    /** Which conditions on writes the server keeps; {@link ConditionalWrites#FULL} where it could not be found out. */
    ConditionalWrites conditionalWrites();

    /** The same, after the server refused a conditional write (400, 501): what is known is doubted, and the server tried out once. */
    ConditionalWrites conditionalWritesRefused();
}
