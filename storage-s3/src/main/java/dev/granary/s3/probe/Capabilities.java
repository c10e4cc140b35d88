package dev.granary.s3.probe;

/**
 * What may be relied on in a bucket. For the parts of the tier that write: a question may send requests, once per process, so nothing that
 * only looks up or opens asks. Thread-safe.
 */
public interface Capabilities {
    /** Which conditions on writes the server keeps; {@link ConditionalWriteSupport#FULL} where it could not be found out. */
    ConditionalWriteSupport conditionalWrites();

    /** The same, after the server refused a conditional write (400, 501): what is known is doubted, and the server tried out once. */
    ConditionalWriteSupport conditionalWritesRefused();
}
