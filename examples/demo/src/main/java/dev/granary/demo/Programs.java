package dev.granary.demo;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.Launch;
import dev.granary.gpu.LocalMemory;

import java.lang.foreign.MemorySegment;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The programs of the demo. Each has one method that makes its inputs, launches its kernels and
 * computes the expected results. No size is a multiple of a work-group's.
 */
public final class Programs {
    private static final int COUNT = 10_007;
    private static final int WIDTH = 150;
    private static final int HEIGHT = 97;
    private static final int BLOCK = 256; // of the sort: two elements for each work-item
    private static final int SORTED = 4_096;
    private static final int BINS = 256;
    private static final int ROWS = 13; // of the softmax
    private static final int COLUMNS = 501;
    private static final int ESCAPE_LIMIT = 50;

    private static final List<Program> ALL = List.of(
            Program.of(
                    "vector-add", "vector_add", "", Programs::add, row("vector_add", 10_048, 64)),
            Program.of("saxpy", "saxpy", "-D ITEMS=4", Programs::saxpy, row("saxpy", 2_560, 128)),
            Program.of(
                    "reduction",
                    "reduction",
                    "-D GROUP=64",
                    Programs::reduce,
                    row("reduce_elements", 5_120, 64),
                    row("reduce_groups", 64, 64)),
            Program.of(
                    "prefix-scan",
                    "prefix_scan",
                    "-D GROUP=128",
                    Programs::scan,
                    row("scan_blocks", 5_120, 128),
                    row("scan_sums", 128, 128),
                    row("add_offsets", 5_120, 128)),
            Program.of(
                    "transpose",
                    "transpose",
                    "-D TILE=16",
                    Programs::transpose,
                    new Launch("transpose", Geometry.of(160, 56).local(16, 8))),
            Products.GEMM,
            Products.PACK,
            Products.LINEAR,
            Products.RELU,
            Program.of(
                    "convolution-3x3",
                    "convolution_3x3",
                    "-D TILE_WIDTH=16 -D TILE_HEIGHT=8",
                    Programs::convolve,
                    new Launch("convolution", Geometry.of(160, 104).local(16, 8))),
            Program.of(
                    "softmax", "softmax", "", Programs::softmax, row("softmax", 128 * ROWS, 128)),
            Program.of(
                    "bitonic-sort",
                    "bitonic_sort",
                    "-D GROUP=128",
                    Programs::sort,
                    row("pad", SORTED, 64),
                    row("sort_blocks", SORTED / 2, 128),
                    row("merge_step", SORTED / 2, 128),
                    row("merge_blocks", SORTED / 2, 128)),
            Program.of(
                    "histogram",
                    "histogram",
                    "-D BINS=" + BINS,
                    Programs::count,
                    row("histogram_groups", 1_536, 64),
                    row("histogram_merge", BINS, 32)),
            Program.of("sha-256", "sha_256", "", Programs::digest, row("sha256", 256, 32)),
            Program.of(
                    "mandelbrot",
                    "mandelbrot",
                    "-D LIMIT=" + ESCAPE_LIMIT,
                    Programs::escape,
                    new Launch("mandelbrot", Geometry.of(160, 104).local(16, 8))));

    private Programs() {}

    /** Returns all programs. */
    public static List<Program> all() {
        return ALL;
    }

    /** Returns the programs of these names. */
    public static List<Program> named(String... names) {
        return ALL.stream().filter(one -> List.of(names).contains(one.name())).toList();
    }

    private static Launch row(String kernel, long items, long group) {
        return new Launch(kernel, Geometry.of(items).local(group));
    }

    /** Sums of two vectors. */
    private static void add(ProgramRun run) {
        float[] left = run.floats(COUNT, -1, 1);
        float[] right = run.floats(COUNT, -1, 1);
        DeviceBuffer sum = run.output(4 * COUNT);
        run.launch("vector_add", left, right, sum, COUNT);
        run.expect(sum, 2e-7, 2e-7, i -> (double) left[i] + right[i]);
    }

    /** {@code y = a x + y} over vectors with increments, as in BLAS; gaps are not written. */
    private static void saxpy(ProgramRun run) {
        float a = run.random().nextFloat(-2, 2);
        float[] x = run.floats(2 * COUNT, -1, 1);
        float[] y = run.floats(3 * COUNT, -1, 1);
        DeviceBuffer result = run.input(y);
        run.launch("saxpy", a, x, 2, result, 3, COUNT);
        run.expect(result, 3e-7, 5e-7, i -> i % 3 == 0 ? (double) a * x[i / 3 * 2] + y[i] : y[i]);
    }

    /**
     * Sum, smallest, largest and the first place of the largest, by trees in two launches (Harris,
     * "Optimizing Parallel Reduction in CUDA"). All values are below zero or all above: an extra
     * zero would change a result.
     */
    private static void reduce(ProgramRun run) {
        for (int sign : new int[] {-1, 1}) {
            int[] values = run.random()
                    .ints(COUNT, 1, 2_000) // few distinct ones: the largest occurs again
                    .map(number -> sign * number * 1_000_003)
                    .toArray();
            int groups = 5_120 / 64;
            DeviceBuffer summaries = run.output(16 * groups);
            DeviceBuffer total = run.output(16);
            run.launch("reduce_elements", values, COUNT, summaries);
            run.launch("reduce_groups", summaries, groups, total);
            int largest = Arrays.stream(values).max().getAsInt();
            int smallest = Arrays.stream(values).min().getAsInt();
            int place = Arrays.stream(values).boxed().toList().indexOf(largest);
            int sum = Arrays.stream(values).sum();
            run.expect(total, new int[] {sum, smallest, largest, place});
        }
    }

    /** Exclusive prefix sums modulo 2^32 by Blelloch's two sweeps over blocks. */
    private static void scan(ProgramRun run) {
        int[] values = run.random().ints(COUNT).toArray();
        DeviceBuffer scanned = run.output(4 * COUNT);
        int blocks = 5_120 / 128;
        DeviceBuffer sums = run.output(4 * blocks);
        run.launch("scan_blocks", values, scanned, sums, COUNT);
        run.launch("scan_sums", sums, blocks);
        run.launch("add_offsets", scanned, sums, COUNT);
        int[] expected = new int[COUNT];
        System.arraycopy(values, 0, expected, 1, COUNT - 1);
        Arrays.parallelPrefix(expected, Integer::sum);
        run.expect(scanned, expected);
    }

    /** Transposition through padded tiles (Ruetsch and Micikevicius). */
    private static void transpose(ProgramRun run) {
        float[] matrix = run.floats(WIDTH * HEIGHT, -1, 1);
        DeviceBuffer transposed = run.output(4 * matrix.length);
        run.launch("transpose", matrix, transposed, HEIGHT, WIDTH);
        run.expect(transposed, 0, 0, i -> matrix[i % HEIGHT * WIDTH + i / HEIGHT]);
    }

    /** Convolution of an image with a filter; beyond the edge is the nearest pixel. */
    private static void convolve(ProgramRun run) {
        float[] image = run.floats(WIDTH * HEIGHT, 0, 1);
        float[] filter = run.floats(9, -1, 1);
        DeviceBuffer result = run.output(4 * image.length);
        run.launch("convolution", image, filter, result, WIDTH, HEIGHT);
        run.expect(result, 1e-6, 2e-6, i -> IntStream.range(0, 9)
                .mapToDouble(tap -> {
                    // (f * g)(x, y) = sum of f(dx, dy) g(x - dx, y - dy)
                    int x = Math.clamp(i % WIDTH - (tap % 3 - 1), 0, WIDTH - 1);
                    int y = Math.clamp(i / WIDTH - (tap / 3 - 1), 0, HEIGHT - 1);
                    return (double) filter[tap] * image[y * WIDTH + x];
                })
                .sum());
    }

    /** The softmax of rows, shifted by their maximum: the exponentials alone would overflow. */
    private static void softmax(ProgramRun run) {
        float[] rows = run.floats(ROWS * COLUMNS, 190, 200);
        DeviceBuffer result = run.output(4 * rows.length);
        run.launch("softmax", rows, result, COLUMNS, new LocalMemory(4 * 128));
        double[] sums = IntStream.range(0, ROWS)
                .mapToDouble(row -> IntStream.range(row * COLUMNS, (row + 1) * COLUMNS)
                        .mapToDouble(i -> Math.exp(rows[i]))
                        .sum())
                .toArray();
        run.expect(result, 5e-6, 0, i -> Math.exp(rows[i]) / sums[i / COLUMNS]);
    }

    /** Integers in ascending order by Batcher's bitonic network, short steps in local memory. */
    private static void sort(ProgramRun run) {
        int[] values = run.random().ints(3_001).toArray();
        Arrays.fill(values, 1_500, 1_520, values[0]); // duplicates
        DeviceBuffer sorted = run.output(4 * SORTED);
        sorted.writeFrom(MemorySegment.ofArray(values));
        run.launch("pad", sorted, values.length);
        run.launch("sort_blocks", sorted);
        for (int length = 2 * BLOCK; length <= SORTED; length *= 2) {
            for (int distance = length / 2; distance >= BLOCK; distance /= 2) {
                run.launch("merge_step", sorted, length, distance);
            }
            run.launch("merge_blocks", sorted, length);
        }
        int[] expected = Arrays.copyOf(values, SORTED);
        Arrays.fill(expected, values.length, SORTED, Integer.MAX_VALUE);
        Arrays.sort(expected);
        run.expect(sorted, expected);
    }

    /** Counts of byte values: groups count in local memory, then their counts are added. */
    private static void count(ProgramRun run) {
        byte[] values = new byte[COUNT];
        run.random().nextBytes(values);
        Arrays.fill(values, 0, COUNT / 3, (byte) 200); // one bin that groups contend for
        int groups = 1_536 / 64;
        DeviceBuffer counts = run.output(4 * groups * BINS);
        DeviceBuffer histogram = run.output(4 * BINS);
        run.launch("histogram_groups", values, COUNT, counts);
        run.launch("histogram_merge", counts, groups, histogram);
        int[] expected = new int[BINS];
        for (byte value : values) {
            expected[Byte.toUnsignedInt(value)]++;
        }
        run.expect(histogram, expected);
    }

    /** SHA-256 of messages of each length from 0 on, which covers every padding. */
    private static void digest(ProgramRun run) {
        int[] starts = IntStream.rangeClosed(0, 203).map(i -> i * (i - 1) / 2).toArray();
        byte[] messages = new byte[starts[203]];
        run.random().nextBytes(messages);
        DeviceBuffer digests = run.output(203 * 32);
        run.launch("sha256", messages, starts, 203, digests);
        byte[] expected = new byte[203 * 32];
        try {
            for (int i = 0; i < 203; i++) {
                MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
                sha256.update(messages, starts[i], i);
                sha256.digest(expected, 32 * i, 32);
            }
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("The JDK lacks SHA-256", e);
        }
        run.expect(digests, expected);
    }

    /**
     * Escape times around the Mandelbrot set, in floats and fused operations as in the kernel: near
     * the boundary of the set any other rounding changes them.
     */
    private static void escape(ProgramRun run) {
        float left = run.random().nextFloat(-2.2f, -2);
        float top = run.random().nextFloat(1, 1.2f);
        float pitch = run.random().nextFloat(0.018f, 0.02f);
        DeviceBuffer steps = run.output(4 * WIDTH * HEIGHT);
        run.launch("mandelbrot", steps, WIDTH, HEIGHT, left, top, pitch);
        int[] expected = new int[WIDTH * HEIGHT];
        for (int i = 0; i < expected.length; i++) {
            float real = Math.fma(i % WIDTH, pitch, left);
            int row = i / WIDTH;
            float imaginary = Math.fma(row, -pitch, top);
            float x = 0;
            float y = 0;
            int step = 0;
            for (; step < ESCAPE_LIMIT && Math.fma(x, x, y * y) <= 4; step++) {
                float nextX = Math.fma(x, x, Math.fma(-y, y, real));
                y = Math.fma(2 * x, y, imaginary);
                x = nextX;
            }
            expected[i] = step;
        }
        run.expect(steps, expected);
    }
}
