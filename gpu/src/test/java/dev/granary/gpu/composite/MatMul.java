package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;
import dev.granary.gpu.composite.MemoryDescriptor.DataType;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;

import java.util.Map;

/**
 * Example of an operation: a matrix product with weights packed by a nested {@link Reorder}, and a
 * nested {@link Activation} with scales in constant memory.
 */
public record MatMul(int rows, int inner, int columns) {
    /** The implementations. */
    enum Variant implements CompositeImplementation<MatMul> {
        /**
         * Packs the weights into the scratchpad first, so that both operands are read along rows.
         */
        PACKED {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<MatMul> descriptor, CreationContext creation)
                    throws CompileException {
                MatMul size = descriptor.operation();
                Target target = descriptor.target();
                CompositePrimitive packing =
                        creation.nested(Reorder.descriptor(target, size.inner, size.columns));
                CompositePrimitive activation = creation.nested(Activation.descriptor(
                        target, size.rows * size.columns, descriptor.attributes()));
                Geometry geometry = Geometry.of(size.columns, size.rows).local(4, 4);
                KernelProgram product =
                        creation.kernel(product(descriptor, "b[column * INNER + i]", geometry));
                creation.scratchpad("packed", 4L * size.inner * size.columns);
                creation.scratchpad("sums", 4L * size.rows * size.columns);
                return run -> {
                    run.run(
                            packing,
                            Map.of(
                                    "from",
                                    run.argument("weights"),
                                    "to",
                                    run.scratchpad("packed")));
                    run.launch(
                            product,
                            "product",
                            geometry,
                            run.argument("source"),
                            run.scratchpad("packed"),
                            run.scratchpad("sums"));
                    run.run(
                            activation,
                            Map.of(
                                    "from",
                                    run.scratchpad("sums"),
                                    "to",
                                    run.argument("destination")));
                };
            }
        },
        /** Reads the weights in their original layout. */
        PLAIN {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<MatMul> descriptor, CreationContext creation)
                    throws CompileException {
                MatMul size = descriptor.operation();
                Geometry geometry = Geometry.of(size.columns, size.rows).local(4, 4);
                CompositePrimitive activation = creation.nested(Activation.descriptor(
                        descriptor.target(), size.rows * size.columns, descriptor.attributes()));
                KernelProgram product =
                        creation.kernel(product(descriptor, "b[i * COLUMNS + column]", geometry));
                creation.scratchpad("sums", 4L * size.rows * size.columns);
                return run -> {
                    run.launch(
                            product,
                            "product",
                            geometry,
                            run.argument("source"),
                            run.argument("weights"),
                            run.scratchpad("sums"));
                    run.run(
                            activation,
                            Map.of(
                                    "from",
                                    run.scratchpad("sums"),
                                    "to",
                                    run.argument("destination")));
                };
            }
        };

        private static KernelDescriptor product(
                CompositeDescriptor<MatMul> descriptor, String weight, Geometry geometry) {
            MatMul size = descriptor.operation();
            return KernelDescriptor.builder(descriptor.target(), "product")
                    .source("""
                        kernel void product(global const float* a, global const float* b, \
                        global float* c) {
                            int column = get_global_id(0), row = get_global_id(1);
                            float sum = 0;
                            for (int i = 0; i < INNER; i++) sum += a[row * INNER + i] * WEIGHT;
                            c[row * COLUMNS + column] = sum;
                        }
                        """.replace("WEIGHT", weight))
                    .options("-DINNER=" + size.inner + " -DCOLUMNS=" + size.columns)
                    .launch("product", geometry)
                    .build();
        }
    }

    static final float[] SCALES = {0.5f, 2, -1};

    /** Returns the descriptor of a packed product with scales. */
    public static CompositeDescriptor<MatMul> packed(
            Target target, int rows, int inner, int columns) {
        return descriptor(target, rows, inner, columns, Variant.PACKED);
    }

    static CompositeDescriptor<MatMul> descriptor(
            Target target, int rows, int inner, int columns, Variant variant) {
        return CompositeDescriptor.builder(target, new MatMul(rows, inner, columns), variant)
                .attributes(Attributes.none().with("scales", SCALES))
                .memory("weights", MemoryDescriptor.rowMajor(DataType.F32, inner, columns))
                .build();
    }

    /** Runs the handle on small integers and compares the result with a plain loop. */
    public static void check(OpenClEngine engine, CompositeHandle handle) {
        MatMul size = (MatMul) handle.primitive().descriptor().operation();
        float[] source = numbers(size.rows * size.inner, 7);
        float[] weights = numbers(size.inner * size.columns, 5);
        float[] result = new float[size.rows * size.columns];
        try (OpenClBuffer a = engine.bufferOf(source);
                OpenClBuffer b = engine.bufferOf(weights);
                OpenClBuffer c = engine.bufferOf(result)) {
            handle.execute(Map.of("source", a, "weights", b, "destination", c));
            c.read(result);
        }
        // tolerates negative zero
        assertArrayEquals(size.expected(source, weights), result, 1e-6f);
    }

    private float[] expected(float[] source, float[] weights) {
        float[] expected = new float[rows * columns];
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                float sum = 0;
                for (int i = 0; i < inner; i++) {
                    sum += source[row * inner + i] * weights[i * columns + column];
                }
                int index = row * columns + column;
                expected[index] = Math.max(0, sum * SCALES[index % SCALES.length]);
            }
        }
        return expected;
    }

    static float[] numbers(int count, int period) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = i % period - period / 2;
        }
        return numbers;
    }
}
