package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.cache.memory.RuntimeParametersCache;
import dev.granary.cache.memory.RuntimeParametersCache.Outcome;
import dev.granary.cache.memory.RuntimeParametersCache.Partition;
import dev.granary.cache.memory.RuntimeParametersCache.Result;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.LoadedKernels;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Tests of the runtime-parameters cache with kernels specialized by shape: batched matrix products
 * of repeated dynamic shapes.
 */
@NeedsPocl
class RuntimeParametersSeedTest {
    private static final Product LARGE = new Product(10, 10, 10, 5);
    private static final Product SMALL = new Product(5, 5, 5, 5);

    private static final String SOURCE = """
        kernel void product(global const float* a, global const float* b, \
        global const float* scales, global float* out) {
            int column = get_global_id(0);
            int row = get_global_id(1);
            int batch = get_global_id(2);
            float sum = 0;
            for (int i = 0; i < INNER; i++) {
                sum += a[(batch * ROWS + row) * INNER + i] \
        * b[(batch * INNER + i) * COLUMNS + column];
            }
            out[(batch * ROWS + row) * COLUMNS + column] = sum * scales[column];
        }
        """;

    private final SpyBinding spy = new SpyBinding();
    private final OpenClEngine engine = OpenClEngine.open(PoclDevice.get(), spy.binding());
    private final Partition<Product, Executor> cache =
            new RuntimeParametersCache(10).partition(Product.class, Executor.class);
    private final List<Executor> built = new ArrayList<>();

    /**
     * The key: shapes known at run time, without data; a batch of (rows x inner) times (inner x
     * columns).
     */
    private record Product(int batch, int rows, int inner, int columns) {
        float[] left() {
            return ramp(batch * rows * inner, 3);
        }

        float[] right() {
            return ramp(batch * inner * columns, 7);
        }

        float[] expected(float[] scales) {
            float[] a = left();
            float[] b = right();
            float[] out = new float[batch * rows * columns];
            for (int index = 0; index < out.length; index++) {
                int column = index % columns;
                int row = index / columns % rows;
                int first = index / columns / rows;
                float sum = 0;
                for (int i = 0; i < inner; i++) {
                    sum += a[(first * rows + row) * inner + i]
                            * b[(first * inner + i) * columns + column];
                }
                out[index] = sum * scales[column];
            }
            return out;
        }

        private static float[] ramp(int length, int period) {
            float[] values = new float[length];
            for (int i = 0; i < length; i++) {
                values[i] = i % period - 1;
            }
            return values;
        }
    }

    /** The value: the kernels for one shape and their geometry. */
    private record Executor(LoadedKernels kernels, Geometry geometry) {}

    @AfterEach
    void close() {
        built.forEach(executor -> executor.kernels().close());
        engine.close();
        Await.holds(() -> spy.alive().isEmpty());
    }

    private Executor build(Product product) throws CompileException, RestoreException {
        String options = Stream.of(
                        "ROWS=" + product.rows,
                        "INNER=" + product.inner,
                        "COLUMNS=" + product.columns)
                .map(define -> "-D" + define)
                .collect(Collectors.joining(" "));
        KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "product")
                .source(SOURCE)
                .options(options)
                .build();
        Geometry geometry = Geometry.of(product.columns, product.rows, product.batch);
        built.add(new Executor(engine.load(engine.create(descriptor)), geometry));
        return built.getLast();
    }

    /**
     * Runs {@code product} on new buffers with {@code scales}, checks the result, and returns the
     * cache's outcome.
     */
    private Outcome run(Product product, float... scales) throws Exception {
        Result<Executor> found = cache.getOrCreate(product, this::build);
        float[] expected = product.expected(scales);
        float[] actual = new float[expected.length];
        try (OpenClBuffer a = engine.bufferOf(product.left());
                OpenClBuffer b = engine.bufferOf(product.right());
                OpenClBuffer factors = engine.bufferOf(scales);
                OpenClBuffer out = engine.buffer((long) actual.length * Float.BYTES)) {
            found.value().kernels().launch("product", found.value().geometry(), a, b, factors, out);
            out.read(actual);
        }
        assertArrayEquals(expected, actual, product.toString());
        return found.outcome();
    }

    @Test
    @DisplayName("for shapes 10, 5, 10 of both inputs, the third is a hit and compiles nothing, and"
            + " all results are correct")
    void repeatedShapes() throws Exception {
        assertEquals(Outcome.MISS, run(LARGE, 1, 1, 1, 1, 1));
        assertEquals(Outcome.MISS, run(SMALL, 1, 1, 1, 1, 1));
        assertEquals(2, spy.count("createProgramWithSource"));
        assertEquals(Outcome.HIT, run(LARGE, 1, 1, 1, 1, 1));
        assertEquals(2, spy.count("createProgramWithSource"), "the third compiles nothing");
        assertEquals(2, spy.builtWith.size());
        assertEquals(2, built.size());
    }

    @Test
    @DisplayName("other scales at another address are a hit, and the new data is used")
    void dataIsArgument() throws Exception {
        assertEquals(Outcome.MISS, run(LARGE, 1, 2, 3, 4, 5));
        // possibly at the address of the first scales
        try (OpenClBuffer _ = engine.bufferOf(new float[5])) {
            assertEquals(Outcome.HIT, run(LARGE, 5, 4, 3, 2, 1));
        }
        assertEquals(1, spy.count("createProgramWithSource"));
    }

    @Test
    @DisplayName("with capacity 0 each call compiles, and results are correct")
    void withoutCache() throws Exception {
        Partition<Product, Executor> none =
                new RuntimeParametersCache(0).partition(Product.class, Executor.class);
        for (int i = 0; i < 2; i++) {
            assertEquals(Outcome.MISS, none.getOrCreate(SMALL, this::build).outcome());
        }
        assertEquals(2, spy.count("createProgramWithSource"));
    }
}
