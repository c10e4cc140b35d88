package dev.granary.gpu;

import java.lang.foreign.MemorySegment;

/**
 * A piece of an engine's device memory. Transfers block until they are done. Not thread-safe. Closed with its engine, if not before; what
 * is called afterwards is an {@link IllegalStateException}.
 */
public interface DeviceBuffer extends AutoCloseable {
    /** The size in bytes. */
    long byteSize();

    /**
     * Fills {@code into} from the start of the buffer.
     *
     * @throws IllegalArgumentException if the buffer is smaller
     */
    void readTo(MemorySegment into);

    /**
     * Writes {@code from} to the start of the buffer.
     *
     * @throws IllegalArgumentException if the buffer is smaller
     */
    void writeFrom(MemorySegment from);

    /**
     * A part of this buffer as a buffer of its own: the same memory. It must be closed too.
     *
     * @param offset where it starts, in bytes; a multiple of what the device aligns memory to, which 4,096 always is
     * @throws IllegalArgumentException if it is not inside this buffer, or this buffer is itself a part
     */
    DeviceBuffer slice(long offset, long bytes);

    @Override
    void close();
}
