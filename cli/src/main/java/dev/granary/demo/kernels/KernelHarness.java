package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.LocalMemory;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Test harness of a demo kernel. It owns the buffers, which are freed together, and launches the
 * kernels in their declared geometries.
 *
 * <p>Buffers for results are poisoned, so that elements that no kernel writes differ from every
 * reference: floats are NaN, integers and bytes have an odd pattern.
 */
final class KernelHarness implements AutoCloseable {
    private static final int POISON = 0xA5C3_5A3D;
    private static final byte POISON_BYTE = (byte) 0xA5;

    private final KernelEngine<?> engine;
    private final LoadedKernels kernels;
    private final SortedMap<String, Geometry> launches;
    private final SortedSet<String> notLaunched;
    private final List<DeviceBuffer> buffers = new ArrayList<>();

    KernelHarness(
            KernelEngine<?> engine, LoadedKernels kernels, SortedMap<String, Geometry> launches) {
        this.engine = engine;
        this.kernels = kernels;
        this.launches = launches;
        this.notLaunched = new TreeSet<>(launches.keySet());
    }

    /** Returns a buffer with these floats. */
    DeviceBuffer input(float[] content) {
        return input(MemorySegment.ofArray(content));
    }

    /** Returns a buffer with these integers. */
    DeviceBuffer input(int[] content) {
        return input(MemorySegment.ofArray(content));
    }

    /** Returns a buffer with these bytes. */
    DeviceBuffer input(byte[] content) {
        return input(MemorySegment.ofArray(content));
    }

    /** Returns a poisoned buffer of that many floats. */
    DeviceBuffer floats(int count) {
        float[] poison = new float[count];
        Arrays.fill(poison, Float.NaN);
        return input(poison);
    }

    /** Returns a poisoned buffer of that many integers. */
    DeviceBuffer ints(int count) {
        int[] poison = new int[count];
        Arrays.fill(poison, POISON);
        return input(poison);
    }

    /** Returns a poisoned buffer of that many bytes. */
    DeviceBuffer bytes(int count) {
        byte[] poison = new byte[count];
        Arrays.fill(poison, POISON_BYTE);
        return input(poison);
    }

    /**
     * Launches a kernel in its geometry and waits for it. Arguments are those of
     * {@link LoadedKernels#launch}.
     */
    void launch(String kernel, Object... arguments) {
        kernels.launch(kernel, geometryOf(kernel), arguments);
        notLaunched.remove(kernel);
    }

    /** Returns the geometry of a kernel. */
    Geometry geometryOf(String kernel) {
        Geometry geometry = launches.get(kernel);
        if (geometry == null) {
            throw new IllegalStateException("No launch of the kernel " + kernel + " is declared");
        }
        return geometry;
    }

    /** Returns the number of work-groups of a one-dimensional kernel. */
    int groupsOf(String kernel) {
        Geometry geometry = geometryOf(kernel);
        return Math.toIntExact(geometry.global().getFirst() / geometry.local().getFirst());
    }

    /**
     * Returns local memory for one float per work-item of a group, for a one-dimensional kernel.
     */
    LocalMemory floatPerItem(String kernel) {
        return new LocalMemory(Float.BYTES * geometryOf(kernel).local().getFirst());
    }

    /** Returns the kernels that have not been launched yet. */
    SortedSet<String> notLaunched() {
        return notLaunched;
    }

    /** Returns the whole content of a buffer as floats. */
    static float[] floatsOf(DeviceBuffer buffer) {
        float[] content = new float[Math.toIntExact(buffer.byteSize() / Float.BYTES)];
        buffer.readTo(MemorySegment.ofArray(content));
        return content;
    }

    /** Returns the whole content of a buffer as integers. */
    static int[] intsOf(DeviceBuffer buffer) {
        int[] content = new int[Math.toIntExact(buffer.byteSize() / Integer.BYTES)];
        buffer.readTo(MemorySegment.ofArray(content));
        return content;
    }

    /** Returns the whole content of a buffer as bytes. */
    static byte[] bytesOf(DeviceBuffer buffer) {
        byte[] content = new byte[Math.toIntExact(buffer.byteSize())];
        buffer.readTo(MemorySegment.ofArray(content));
        return content;
    }

    @Override
    public void close() {
        buffers.forEach(DeviceBuffer::close);
    }

    private DeviceBuffer input(MemorySegment content) {
        DeviceBuffer buffer = engine.buffer(content.byteSize());
        buffers.add(buffer);
        buffer.writeFrom(content);
        return buffer;
    }
}
