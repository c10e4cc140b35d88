package dev.granary.gpu.opencl.binding;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.gpu.DriverException;

import org.lwjgl.opencl.CL10;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** Base of native calls: checks of their status, and queries of values of variable size. */
abstract class CheckedCalls {
    /** A call of OpenCL that returns a value of variable size, or the size that it needs. */
    interface Query {
        int get(long size, long value, long neededSize);
    }

    /** A call of OpenCL that lists handles if there is room, or returns their number. */
    interface Listing {
        int get(int room, long handles, long count);
    }

    static String text(MemorySegment value) {
        byte[] bytes = value.toArray(JAVA_BYTE);
        int length = bytes.length;
        while (length > 0 && bytes[length - 1] == 0) {
            length--;
        }
        return new String(bytes, 0, length, UTF_8).strip();
    }

    final MemorySegment query(String call, Query query) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment needed = arena.allocate(JAVA_LONG);
            check(call, query.get(0, 0, needed.address()));
            MemorySegment value = Arena.ofAuto()
                    .allocate(Math.max(Long.BYTES, needed.get(JAVA_LONG, 0)), Long.BYTES);
            check(call, query.get(needed.get(JAVA_LONG, 0), value.address(), 0));
            return value;
        }
    }

    /**
     * Returns the handles that a call lists.
     *
     * @param isNoneAnError true if the call fails when there are none, which is no failure then
     */
    final List<Long> handles(String call, boolean isNoneAnError, Listing listing) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            int status = listing.get(0, 0, count.address());
            int found = count.get(JAVA_INT, 0);
            if (found > 0 || !isNoneAnError) {
                check(call, status);
            }
            if (found == 0) {
                return List.of();
            }
            MemorySegment handles = arena.allocate(JAVA_LONG, found);
            check(call, listing.get(found, handles.address(), 0));
            return longs(handles);
        }
    }

    static List<Long> longs(MemorySegment segment) {
        List<Long> values = new ArrayList<>();
        for (long value : segment.toArray(JAVA_LONG)) {
            values.add(value);
        }
        return values;
    }

    /** Returns the handle of a call that creates an object and stores its status at an address. */
    final long create(String call, LongUnaryOperator creation) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            long handle = creation.applyAsLong(status.address());
            check(call, status.get(JAVA_INT, 0));
            return handle;
        }
    }

    final void check(String call, int status) {
        if (status != CL10.CL_SUCCESS) {
            throw failed(call, status);
        }
    }

    static DriverException failed(String call, int status) {
        return new DriverException(
                call + " failed with " + status + " (" + StatusCodes.name(status) + ")", status);
    }
}
