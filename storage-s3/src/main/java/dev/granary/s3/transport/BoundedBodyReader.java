package dev.granary.s3.transport;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Reads a body of unknown length up to a limit, and allocates memory only for received bytes.
 *
 * <p>One body takes at most a quarter of the heap, and half as much again while its buffer grows. A
 * longer one is a failure of this process, not of the object.
 */
public final class BoundedBodyReader {
    private static final int HEAP_DIVISOR = 4;
    private static final int FIRST_BYTES = 1 << 20;
    private static final int MIN_BYTES = 1 << 10;
    private static final int MAX_ARRAY = Integer.MAX_VALUE - 16;

    private BoundedBodyReader() {}

    /**
     * Reads to the end of the stream.
     *
     * @param body the stream; not closed here
     * @param declared the length that the sender declares, in bytes; negative if it declares none
     * @param limit the maximum length, in bytes
     * @return the bytes, or null if there are more than {@code limit}; nothing is read if
     *     {@code declared} exceeds it
     * @throws IOException if reading fails, or this process has too little memory
     */
    public static @Nullable MemorySegment read(InputStream body, long declared, long limit)
            throws IOException {
        return read(body, declared, limit, Runtime.getRuntime().maxMemory() / HEAP_DIVISOR);
    }

    static @Nullable MemorySegment read(InputStream body, long declared, long limit, long memory)
            throws IOException {
        if (declared > limit) {
            return null;
        }
        if (declared > memory) {
            throw new TooLittleMemoryException(memory);
        }
        int max = (int) Math.min(Math.min(limit, memory), MAX_ARRAY);
        byte[] buffer = new byte
                [(int) Math.min(
                        max, declared >= 0 && declared <= FIRST_BYTES ? declared : FIRST_BYTES)];
        int length = 0;
        while (true) {
            length += body.readNBytes(buffer, length, buffer.length - length);
            if (length < buffer.length) {
                return MemorySegment.ofArray(buffer).asSlice(0, length);
            }
            int next = body.read();
            if (next < 0) {
                return MemorySegment.ofArray(buffer);
            }
            if (length == max) {
                if (max < limit) {
                    throw new TooLittleMemoryException(max);
                }
                return null;
            }
            buffer = enlarge(buffer, newLength(buffer.length, declared, max));
            buffer[length++] = (byte) next;
        }
    }

    /**
     * Reads to the end of a stream that should have {@code length} bytes.
     *
     * @return the bytes, a slice of {@code into}, fewer if the stream ends early; null if there are
     *     more
     * @throws IOException if reading fails
     */
    public static @Nullable MemorySegment readInto(InputStream body, byte[] into, int length)
            throws IOException {
        int read = body.readNBytes(into, 0, length);
        return read == length && body.read() >= 0
                ? null
                : MemorySegment.ofArray(into).asSlice(0, read);
    }

    private static byte[] enlarge(byte[] buffer, int length) throws IOException {
        try {
            return Arrays.copyOf(buffer, length);
        } catch (OutOfMemoryError e) {
            // of one large array, not of the process: the smaller buffer is still intact
            throw new TooLittleMemoryException(buffer.length);
        }
    }

    /** Returns twice the length, or the declared length if that is less. */
    private static int newLength(int length, long declared, int max) {
        long doubled = Math.max(2L * length, MIN_BYTES);
        long wanted = declared > length ? Math.min(declared, doubled) : doubled;
        return (int) Math.min(wanted, max);
    }
}
