package dev.granary.plans.tuning;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelEngine;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The arrays of a nest in device memory, with their initial content on the host. The values are
 * small whole numbers other than zero, so that sums are exact in each type and order. Not
 * thread-safe.
 */
final class ArrayMemory implements AutoCloseable {
    private static final int MAX_VALUE = 3;
    private static final double TOLERANCE = 1e-4;

    private final Arena arena = Arena.ofShared();
    private final List<KernelArray> arrays;
    private final List<MemorySegment> contents = new ArrayList<>();
    private final List<DeviceBuffer> buffers = new ArrayList<>();
    private final MemorySegment result; // of the last array, which is the target
    private @Nullable MemorySegment expected;

    /**
     * Allocates the arrays.
     *
     * @param arrays the arguments of the kernel; the last one is the target of the statement
     */
    ArrayMemory(KernelEngine engine, List<KernelArray> arrays, long seed) {
        this.arrays = arrays;
        SplittableRandom random = new SplittableRandom(seed);
        for (KernelArray array : arrays) {
            MemorySegment content = arena.allocate(array.byteSize(), Long.BYTES);
            fill(content, array.type(), random);
            contents.add(content);
            buffers.add(engine.buffer(array.byteSize()));
        }
        this.result = arena.allocate(arrays.getLast().byteSize(), Long.BYTES);
        resetAll();
    }

    private static void fill(MemorySegment content, ElementType type, SplittableRandom random) {
        for (long i = 0; i < content.byteSize() / type.bytes(); i++) {
            int value = random.nextInt(1, MAX_VALUE + 1) * (random.nextBoolean() ? 1 : -1);
            switch (type) {
                case FLOAT -> content.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
                case INT32 -> content.setAtIndex(ValueLayout.JAVA_INT, i, value);
                case INT8 -> content.set(ValueLayout.JAVA_BYTE, i, (byte) value);
                case HALF ->
                    content.setAtIndex(ValueLayout.JAVA_SHORT, i, Float.floatToFloat16(value));
            }
        }
    }

    /** Returns the arguments of a launch. */
    Object[] arguments() {
        return buffers.toArray();
    }

    /** Writes the initial content of the target. */
    void reset() {
        buffers.getLast().writeFrom(contents.getLast());
    }

    /** Writes the initial content of all arrays. */
    void resetAll() {
        for (int i = 0; i < buffers.size(); i++) {
            buffers.get(i).writeFrom(contents.get(i));
        }
    }

    /** Takes the present content of the target as the expected one. */
    void expect() {
        MemorySegment copy = arena.allocate(result.byteSize(), Long.BYTES);
        buffers.getLast().readTo(copy);
        expected = copy;
    }

    /** Returns the first difference between the target and its expected content; null if none. */
    @Nullable
    String difference() {
        buffers.getLast().readTo(result);
        MemorySegment right = expected;
        if (right == null) {
            throw new IllegalStateException("No content is expected");
        }
        if (right.mismatch(result) < 0) {
            return null;
        }
        ElementType type = arrays.getLast().type();
        for (long i = 0; i < result.byteSize() / type.bytes(); i++) {
            double a = element(right, type, i);
            double b = element(result, type, i);
            boolean isNear = a == b
                    || Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a))
                    || (Double.isNaN(a) && Double.isNaN(b));
            if (!isNear) {
                return "element " + i + " of " + arrays.getLast() + " is " + b + ", not " + a;
            }
        }
        return null;
    }

    private static double element(MemorySegment from, ElementType type, long i) {
        return switch (type) {
            case FLOAT -> from.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            case INT32 -> from.getAtIndex(ValueLayout.JAVA_INT, i);
            case INT8 -> from.get(ValueLayout.JAVA_BYTE, i);
            case HALF -> Float.float16ToFloat(from.getAtIndex(ValueLayout.JAVA_SHORT, i));
        };
    }

    @Override
    public void close() {
        buffers.forEach(DeviceBuffer::close);
        arena.close();
    }
}
