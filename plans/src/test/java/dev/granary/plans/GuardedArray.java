package dev.granary.plans;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/** An array of a plan in device memory, between two zones that no kernel may change. */
final class GuardedArray implements AutoCloseable {
    private static final int ZONE = 4096;
    private static final byte PATTERN = 0x5B;

    private final KernelArray array;
    private final OpenClBuffer whole;
    private final OpenClBuffer part;
    private final int bytes;

    /**
     * Creates the array.
     *
     * @param elements the values in the order of memory, gaps of the layout included
     */
    GuardedArray(OpenClEngine engine, KernelArray array, double[] elements) {
        this.array = array;
        this.bytes = Math.toIntExact(array.byteSize());
        byte[] content = new byte[2 * ZONE + bytes];
        Arrays.fill(content, PATTERN);
        MemorySegment.copy(
                MemorySegment.ofArray(encode(array.type(), elements)),
                0,
                MemorySegment.ofArray(content),
                ZONE,
                bytes);
        whole = engine.bufferOf(content);
        part = whole.slice(ZONE, bytes);
    }

    /** Returns the argument of a launch. */
    OpenClBuffer argument() {
        return part;
    }

    /** Returns the elements, and checks the zones. */
    double[] read() {
        byte[] content = new byte[2 * ZONE + bytes];
        whole.read(content);
        for (int i = 0; i < content.length; i++) {
            if (i < ZONE || i >= ZONE + bytes) {
                int at = i - ZONE;
                assertEquals(PATTERN, content[i], () -> "byte " + at + " of " + array);
            }
        }
        return decode(array.type(), Arrays.copyOfRange(content, ZONE, ZONE + bytes));
    }

    private static byte[] encode(ElementType type, double[] elements) {
        byte[] content = new byte[elements.length * type.bytes()];
        MemorySegment memory = MemorySegment.ofArray(content);
        for (int i = 0; i < elements.length; i++) {
            switch (type) {
                case FLOAT ->
                    memory.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 4L * i, (float) elements[i]);
                case INT32 -> memory.set(ValueLayout.JAVA_INT_UNALIGNED, 4L * i, (int) elements[i]);
                case INT8 -> memory.set(ValueLayout.JAVA_BYTE, i, (byte) elements[i]);
                case HALF ->
                    memory.set(
                            ValueLayout.JAVA_SHORT_UNALIGNED, 2L * i, Float.floatToFloat16((float)
                                    elements[i]));
            }
        }
        return content;
    }

    private static double[] decode(ElementType type, byte[] content) {
        MemorySegment memory = MemorySegment.ofArray(content);
        double[] elements = new double[content.length / type.bytes()];
        for (int i = 0; i < elements.length; i++) {
            elements[i] = switch (type) {
                case FLOAT -> memory.get(ValueLayout.JAVA_FLOAT_UNALIGNED, 4L * i);
                case INT32 -> memory.get(ValueLayout.JAVA_INT_UNALIGNED, 4L * i);
                case INT8 -> memory.get(ValueLayout.JAVA_BYTE, i);
                case HALF ->
                    Float.float16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2L * i));
            };
        }
        return elements;
    }

    @Override
    public void close() {
        part.close();
        whole.close();
    }
}
