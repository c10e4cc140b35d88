package dev.granary.it;

import com.google.gson.Gson;

import dev.granary.cache.CompileException;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.demo.Program;
import dev.granary.demo.Programs;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositeHandle;
import dev.granary.gpu.composite.CompositeImplementation;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;
import dev.granary.gpu.composite.CompositeImplementation.ExecutionBody;
import dev.granary.gpu.composite.CompositePrimitive;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Programs of users, each in a process of its own: the one of the README, one with composite
 * primitives, and all programs of the demo or four quick ones. The first argument names it. The
 * output is the result, and the counters at the end.
 */
final class RecordedProgram {
    private static final int N = 1 << 20;

    private RecordedProgram() {}

    /**
     * Result of a process.
     *
     * @param isRight whether the kernels computed what they should
     * @param compiled the kernels that were compiled
     * @param bucket the kernels that came from the bucket
     */
    record Result(boolean isRight, long compiled, long bucket) {
        static Result parse(String output) {
            return new Gson().fromJson(output.substring(output.lastIndexOf('{')), Result.class);
        }
    }

    static void main(String[] arguments) throws Exception {
        boolean isRight;
        GranaryStatistics statistics;
        // as in the README: closed without a flush
        try (Granary granary = Granary.open(GranaryConfig.fromEnvironment());
                OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
            isRight = switch (arguments[0]) {
                case "readme" -> readme(granary, engine);
                case "composite" -> composite(granary, engine);
                case "quick" -> demo(granary, engine, LookupProcess.QUICK);
                default -> demo(granary, engine, Programs.all());
            };
            statistics = granary.statistics();
        }
        System.out.println(new Gson()
                .toJson(new Result(
                        isRight,
                        statistics.count(Counter.COMPILED),
                        statistics.layers().stream()
                                .mapToLong(layer -> layer.count(Counter.LAYER_HITS))
                                .sum())));
    }

    private static boolean readme(Granary granary, OpenClEngine engine) throws Exception {
        String text = """
                kernel void saxpy(float a, global const float *x, global float *y, int n) {
                    int i = get_global_id(0);
                    if (i < n) {
                        y[i] = a * x[i] + y[i];
                    }
                }""";
        float[] result = new float[N];
        try (OpenClBuffer x = engine.bufferOf(filled(2));
                OpenClBuffer y = engine.bufferOf(filled(3))) {
            KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "saxpy")
                    .source(text)
                    .options("-cl-fast-relaxed-math")
                    .launch("saxpy", Geometry.of(1 << 20).local(64))
                    .build();
            KernelProgram saxpy = granary.primitive(engine, descriptor);
            try (LoadedKernels kernels = engine.load(saxpy)) {
                kernels.launch("saxpy", Geometry.of(1 << 20).local(64), 2.0f, x, y, N);
            }
            y.read(result);
        }
        return result[N - 1] == 7;
    }

    private static boolean demo(Granary granary, OpenClEngine engine, List<Program> programs)
            throws Exception {
        boolean isRight = true;
        for (Program program : programs) {
            KernelProgram primitive =
                    granary.primitive(engine, program.descriptor(engine.target(), ""));
            try (LoadedKernels kernels = engine.load(primitive)) {
                isRight &=
                        program.check(engine, kernels, new SplittableRandom(1)).isEmpty();
            }
        }
        return isRight;
    }

    private static float[] filled(float value) {
        float[] all = new float[N];
        Arrays.fill(all, value);
        return all;
    }

    /** The mean of the squares of each row: a nested primitive and a program with a header. */
    record MeanSquare(int rows, int columns) {}

    /** The squares of a matrix. */
    record Squares(int rows, int columns) {}

    /** The implementations, as constants: they are part of a composite primitive's key. */
    private enum Parts {
        ;

        static final CompositeImplementation<Squares> SQUARES = Parts::squares;
        static final CompositeImplementation<MeanSquare> MEAN = Parts::mean;

        private static ExecutionBody squares(
                CompositeDescriptor<Squares> descriptor, CreationContext creation)
                throws CompileException {
            Squares size = descriptor.operation();
            Geometry geometry = Geometry.of(size.columns, size.rows).local(4, 4);
            KernelProgram program = creation.kernel(KernelDescriptor.builder(
                            descriptor.target(), "squares")
                    .source("#include \"../lib/square of.h\"\n"
                            + "kernel void squares(global const float* from, global float*"
                            + " to) {\n"
                            + "    int i = get_global_id(1) * get_global_size(0)"
                            + " + get_global_id(0);\n")
                    .source("    to[i] = square(from[i]);\n}")
                    .header("../lib/square of.h", "inline float square(float x) { return x * x; }")
                    .launch(geometry)
                    .build());
            return run -> run.launch(
                    program, "squares", geometry, run.argument("from"), run.argument("to"));
        }

        private static ExecutionBody mean(
                CompositeDescriptor<MeanSquare> descriptor, CreationContext creation)
                throws CompileException {
            MeanSquare size = descriptor.operation();
            Geometry geometry = Geometry.of(size.rows).local(4);
            CompositePrimitive squares = creation.nested(CompositeDescriptor.builder(
                            descriptor.target(), new Squares(size.rows, size.columns), SQUARES)
                    .build());
            KernelProgram program =
                    creation.kernel(KernelDescriptor.builder(descriptor.target(), "mean")
                            .source("""
                        kernel void mean(global const float* from, global float* to, \
                        constant float* scale) {
                            int row = get_global_id(0);
                            float found = 0;
                            for (int i = 0; i < COLUMNS; i++) found += from[row * COLUMNS + i];
                            to[row] = found * scale[0];
                        }
                        """)
                            .options("-D COLUMNS=" + size.columns)
                            .entry("mean")
                            .launch(geometry)
                            .build());
            creation.scratchpad("squares", 4L * size.rows * size.columns);
            creation.constant("scale", 1f / size.columns);
            return run -> {
                run.run(
                        squares,
                        Map.of("from", run.argument("source"), "to", run.scratchpad("squares")));
                run.launch(
                        program,
                        "mean",
                        geometry,
                        run.scratchpad("squares"),
                        run.argument("destination"),
                        run.constant("scale"));
            };
        }
    }

    private static boolean composite(Granary granary, OpenClEngine engine) throws Exception {
        float[] source = new float[8 * 16];
        for (int i = 0; i < source.length; i++) {
            source[i] = i % 16;
        }
        float[] result = new float[8];
        CompositeDescriptor<MeanSquare> descriptor = CompositeDescriptor.builder(
                        engine.target(), new MeanSquare(8, 16), Parts.MEAN)
                .build();
        try (CompositeHandle handle = granary.primitive(engine, descriptor).open(engine);
                OpenClBuffer from = engine.bufferOf(source);
                OpenClBuffer to = engine.bufferOf(result)) {
            handle.execute(Map.of("source", from, "destination", to));
            to.read(result);
        }
        return result[7] == 77.5f;
    }
}
