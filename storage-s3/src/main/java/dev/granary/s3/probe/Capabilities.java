package dev.granary.s3.probe;

/**
 * Capabilities of the server of a bucket, for the parts of the tier that write. Thread-safe.
 *
 * <p>A call may send requests, once per process, so opening and lookups must not use it.
 */
public interface Capabilities {
    /**
     * Returns the conditional writes that the server supports; {@link ConditionalWriteSupport#FULL}
     * if they are unknown.
     */
    ConditionalWriteSupport conditionalWrites();

    /**
     * Returns the same after the server refused a conditional write (400, 501): the server is
     * probed once more.
     */
    ConditionalWriteSupport conditionalWritesRefused();
}
