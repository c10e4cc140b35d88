package dev.granary.gpu;

import java.lang.foreign.MemorySegment;

/**
 * A buffer in an engine's device memory. Transfers block until they are complete. Not thread-safe.
 *
 * <p>Closing the engine closes its buffers. Methods of a closed buffer throw
 * {@link IllegalStateException}.
 */
public interface DeviceBuffer extends AutoCloseable {
    /** Returns the size in bytes. */
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

    /** Fills {@code into} from the start of the buffer. */
    default void read(float[] into) {
        readTo(MemorySegment.ofArray(into));
    }

    /** Fills {@code into} from the start of the buffer. */
    default void read(int[] into) {
        readTo(MemorySegment.ofArray(into));
    }

    /** Fills {@code into} from the start of the buffer. */
    default void read(byte[] into) {
        readTo(MemorySegment.ofArray(into));
    }

    /** Writes {@code from} to the start of the buffer. */
    default void write(float[] from) {
        writeFrom(MemorySegment.ofArray(from));
    }

    /** Writes {@code from} to the start of the buffer. */
    default void write(int[] from) {
        writeFrom(MemorySegment.ofArray(from));
    }

    /** Writes {@code from} to the start of the buffer. */
    default void write(byte[] from) {
        writeFrom(MemorySegment.ofArray(from));
    }

    /**
     * Returns a part of this buffer as a buffer that shares its memory. The caller must close it
     * too.
     *
     * @param offset start of the part in bytes; a multiple of the device's memory alignment, such
     *     as 4,096
     * @throws IllegalArgumentException if the range is not inside this buffer, or this buffer is
     *     itself a slice
     */
    DeviceBuffer slice(long offset, long bytes);

    @Override
    void close();
}
