package dev.granary.s3.store;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads a body of unknown length up to a limit, and allocates in step with what comes.
 *
 * <p>One body takes at most a quarter of the heap, and half as much again while its memory grows; what is longer is a failure of this process, and says
 * nothing of the object.
 */
public final class BoundedBodyReader {
    private static final int HEAP_PART = 4;
    private static final int FIRST_BYTES = 1 << 20;
    private static final int MIN_BYTES = 1 << 10;
    private static final int MAX_ARRAY = Integer.MAX_VALUE - 16;

    private BoundedBodyReader() {}

    /**
     * Reads to the end of the stream.
     *
     * @param body the stream; not closed here
     * @param hint how long the sender says it is, in bytes; negative where it does not say
     * @param limit the most that may be read, in bytes
     * @return the bytes, or null where there are more than {@code limit}: where the sender says so, nothing is read
     * @throws IOException if the stream breaks, or this process has too little memory
     */
    public static @Nullable MemorySegment read(InputStream body, long hint, long limit) throws IOException {
        return read(body, hint, limit, Runtime.getRuntime().maxMemory() / HEAP_PART);
    }

    static @Nullable MemorySegment read(InputStream body, long hint, long limit, long memory) throws IOException {
        if (hint > limit) {
            return null;
        }
        if (hint > memory) {
            throw new TooLittleMemoryException(memory);
        }
        int most = (int) Math.min(Math.min(limit, memory), MAX_ARRAY);
        byte[] buffer = new byte[(int) Math.min(most, hint >= 0 && hint <= FIRST_BYTES ? hint : FIRST_BYTES)];
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
            if (length == most) {
                if (most < limit) {
                    throw new TooLittleMemoryException(most);
                }
                return null;
            }
            buffer = larger(buffer, grown(buffer.length, hint, most));
            buffer[length++] = (byte) next;
        }
    }

    /**
     * Reads to the end of a stream that should have {@code length} bytes.
     *
     * @return the bytes, a part of {@code into}, fewer where the stream ends before; or null where there are more
     * @throws IOException if the stream breaks
     */
    public static @Nullable MemorySegment readInto(InputStream body, byte[] into, int length) throws IOException {
        int read = body.readNBytes(into, 0, length);
        return read == length && body.read() >= 0 ? null : MemorySegment.ofArray(into).asSlice(0, read);
    }

    private static byte[] larger(byte[] buffer, int length) throws IOException {
        try {
            return Arrays.copyOf(buffer, length);
        } catch (OutOfMemoryError e) { // of one large array, and not of the process: what was allocated before is still there
            throw new TooLittleMemoryException(buffer.length);
        }
    }

    /** Twice as much, or exactly what the sender says, where that is less. */
    private static int grown(int length, long hint, int most) {
        long doubled = Math.max(2L * length, MIN_BYTES);
        long wanted = hint > length ? Math.min(hint, doubled) : doubled;
        return (int) Math.min(wanted, most);
    }
}
