package dev.granary.demo;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.Launch;
import dev.granary.gpu.LoadedKernels;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntToDoubleFunction;
import java.util.random.RandomGenerator;

/**
 * A run of a program's kernels: owns the buffers, launches in the declared geometries, and records
 * the first difference from the expected results. Not thread-safe.
 */
final class ProgramRun implements AutoCloseable {
    private final KernelEngine engine;
    private final LoadedKernels kernels;
    private final SortedMap<String, Geometry> launches = new TreeMap<>();
    private final SortedSet<String> launched = new TreeSet<>();
    private final RandomGenerator random;
    private final List<DeviceBuffer> buffers = new ArrayList<>();
    private String difference = "";

    ProgramRun(
            KernelEngine engine,
            LoadedKernels kernels,
            List<Launch> launches,
            RandomGenerator random) {
        this.engine = engine;
        this.kernels = kernels;
        launches.forEach(one -> this.launches.put(one.kernel(), one.geometry()));
        this.random = random;
    }

    /** Returns the generator of the data. */
    RandomGenerator random() {
        return random;
    }

    /** Returns floats from {@code low}, inclusive, to {@code high}, exclusive. */
    float[] floats(int count, float low, float high) {
        return floats(random, count, low, high);
    }

    static float[] floats(RandomGenerator random, int count, float low, float high) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = random.nextFloat(low, high);
        }
        return values;
    }

    /** Returns a buffer with the content of an array of floats, integers or bytes. */
    DeviceBuffer input(Object array) {
        MemorySegment content = segment(array);
        DeviceBuffer buffer = engine.buffer(content.byteSize());
        buffers.add(buffer);
        buffer.writeFrom(content);
        return buffer;
    }

    /** Returns a buffer for results, with bits that are NaN as floats and -1 as integers. */
    DeviceBuffer output(int bytes) {
        byte[] poison = new byte[bytes];
        Arrays.fill(poison, (byte) -1);
        return input(poison);
    }

    /**
     * Launches a kernel in its geometry, and waits for it.
     *
     * @param arguments those of {@link LoadedKernels#launch}, and arrays in place of input buffers
     */
    void launch(String kernel, Object... arguments) {
        Geometry geometry = launches.get(kernel);
        if (geometry == null) {
            throw new IllegalStateException("No launch of the kernel " + kernel + " is declared");
        }
        kernels.launch(
                kernel,
                geometry,
                Arrays.stream(arguments)
                        .map(one -> one.getClass().isArray() ? input(one) : one)
                        .toArray());
        launched.add(kernel);
    }

    /**
     * Compares floats. Values that are not finite differ from everything.
     *
     * @param relative the allowed difference as a part of the expected value
     * @param absolute the allowed difference beyond that
     */
    void expect(
            DeviceBuffer buffer, double relative, double absolute, IntToDoubleFunction expected) {
        float[] actual = new float[Math.toIntExact(buffer.byteSize() / Float.BYTES)];
        buffer.readTo(MemorySegment.ofArray(actual));
        for (int i = 0; i < actual.length; i++) {
            double value = expected.applyAsDouble(i);
            double allowed = absolute + relative * Math.abs(value);
            if (!(Math.abs(actual[i] - value) <= allowed) || Double.isInfinite(value)) {
                differ("float " + i + ": expected " + value + ", got " + actual[i]);
            }
        }
    }

    /** Compares bits with those of an array of integers or bytes. */
    void expect(DeviceBuffer buffer, Object expected) {
        MemorySegment actual = MemorySegment.ofArray(new byte[(int) buffer.byteSize()]);
        buffer.readTo(actual);
        long place = actual.mismatch(segment(expected));
        if (place >= 0) {
            differ("byte " + place + " differs");
        }
    }

    /**
     * Returns the first difference from the expected results; empty if there is none.
     *
     * @throws IllegalStateException if a kernel was never launched
     */
    String difference() {
        if (!launched.equals(launches.keySet())) {
            throw new IllegalStateException(
                    "Of the kernels " + launches.keySet() + " only " + launched + " were launched");
        }
        return difference;
    }

    @Override
    public void close() {
        buffers.forEach(DeviceBuffer::close);
    }

    private static MemorySegment segment(Object array) {
        return switch (array) {
            case float[] floats -> MemorySegment.ofArray(floats);
            case int[] ints -> MemorySegment.ofArray(ints);
            default -> MemorySegment.ofArray((byte[]) array);
        };
    }

    private void differ(String found) {
        difference = difference.isEmpty() ? found : difference;
    }
}
