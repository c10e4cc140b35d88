package dev.granary.gpu.composite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;

import java.util.List;
import java.util.Map;

/**
 * Operation that computes softmax along rows with two nested reductions, whose kernels are in one
 * program.
 */
public record Softmax(int rows, int columns) {
    /** The implementation. */
    enum Variant implements CompositeImplementation<Softmax> {
        OF_REDUCTIONS {
            @Override
            public ExecutionBody create(
                    CompositeDescriptor<Softmax> descriptor, CreationContext creation)
                    throws CompileException {
                return Softmax.create(descriptor, creation);
            }
        }
    }

    /** Operation that computes the maximum or the sum of each row. */
    record Reduction(int rows, int columns, String of) {
        /** The implementation. */
        enum Variant implements CompositeImplementation<Reduction> {
            BY_ROW {
                @Override
                public ExecutionBody create(
                        CompositeDescriptor<Reduction> descriptor, CreationContext creation)
                        throws CompileException {
                    return Reduction.create(descriptor, creation);
                }
            }
        }

        private static ExecutionBody create(
                CompositeDescriptor<Reduction> descriptor, CreationContext creation)
                throws CompileException {
            Reduction size = descriptor.operation();
            Geometry geometry = Geometry.of(size.rows).local(4);
            KernelProgram program =
                    creation.kernel(KernelDescriptor.builder(descriptor.target(), "reduction")
                            .source("""
                                kernel void largest(global const float* from, global float* to, \
                                int columns) {
                                    int row = get_global_id(0);
                                    float found = from[row * columns];
                                    for (int i = 1; i < columns; i++) found = \
                                fmax(found, from[row * columns + i]);
                                    to[row] = found;
                                }
                                kernel void sum(global const float* from, global float* to, \
                                int columns) {
                                    int row = get_global_id(0);
                                    float found = 0;
                                    for (int i = 0; i < columns; i++) \
                                found += from[row * columns + i];
                                    to[row] = found;
                                }
                                """)
                            .launch(geometry)
                            .build());
            return run -> run.launch(
                    program,
                    size.of,
                    geometry,
                    run.argument("from"),
                    run.argument("to"),
                    size.columns);
        }
    }

    /** Returns the descriptor of a softmax along rows. */
    public static CompositeDescriptor<Softmax> descriptor(Target target, int rows, int columns) {
        return CompositeDescriptor.builder(
                        target, new Softmax(rows, columns), Variant.OF_REDUCTIONS)
                .build();
    }

    private static ExecutionBody create(
            CompositeDescriptor<Softmax> descriptor, CreationContext creation)
            throws CompileException {
        Softmax size = descriptor.operation();
        Target target = descriptor.target();
        List<CompositePrimitive> reductions = creation.nested(List.of(
                CompositeDescriptor.builder(
                                target,
                                new Reduction(size.rows, size.columns, "largest"),
                                Reduction.Variant.BY_ROW)
                        .build(),
                CompositeDescriptor.builder(
                                target,
                                new Reduction(size.rows, size.columns, "sum"),
                                Reduction.Variant.BY_ROW)
                        .build()));
        Geometry geometry = Geometry.of(size.columns, size.rows).local(4, 4);
        KernelProgram program = creation.kernel(KernelDescriptor.builder(target, "softmax")
                .source("""
                    kernel void exponents(global const float* from, global const float* largest, \
                    global float* to) {
                        int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
                        to[i] = exp(from[i] - largest[get_global_id(1)]);
                    }
                    kernel void quotients(global float* to, global const float* sums) {
                        to[get_global_id(1) * get_global_size(0) + get_global_id(0)] \
                    /= sums[get_global_id(1)];
                    }
                    """)
                .launch(geometry)
                .build());
        creation.scratchpad("of rows", 4L * size.rows);
        return run -> {
            DeviceBuffer ofRows = run.scratchpad("of rows");
            run.run(reductions.get(0), Map.of("from", run.argument("source"), "to", ofRows));
            run.launch(
                    program,
                    "exponents",
                    geometry,
                    run.argument("source"),
                    ofRows,
                    run.argument("destination"));
            run.run(reductions.get(1), Map.of("from", run.argument("destination"), "to", ofRows));
            run.launch(program, "quotients", geometry, run.argument("destination"), ofRows);
        };
    }

    /** Runs the handle and compares the result with a plain loop. */
    public static void check(OpenClEngine engine, CompositeHandle handle) {
        Softmax size = (Softmax) handle.primitive().descriptor().operation();
        float[] source = MatMul.numbers(size.rows * size.columns, 9);
        float[] result = new float[source.length];
        try (OpenClBuffer from = engine.bufferOf(source);
                OpenClBuffer to = engine.bufferOf(result)) {
            handle.execute(Map.of("source", from, "destination", to));
            to.read(result);
        }
        assertArrayEquals(size.expected(source), result, 1e-5f);
    }

    private float[] expected(float[] source) {
        float[] expected = new float[source.length];
        for (int row = 0; row < rows; row++) {
            double sum = 0;
            for (int i = 0; i < columns; i++) {
                sum += Math.exp(source[row * columns + i]);
            }
            for (int i = 0; i < columns; i++) {
                expected[row * columns + i] = (float) (Math.exp(source[row * columns + i]) / sum);
            }
        }
        return expected;
    }
}
