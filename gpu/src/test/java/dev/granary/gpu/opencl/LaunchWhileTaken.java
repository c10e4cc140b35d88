package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;

import java.util.concurrent.CompletableFuture;

/**
 * Program that repeatedly launches a kernel with a required work-group size while another thread
 * takes its program's binaries. The launches are those of the engine, or the application's own.
 */
public final class LaunchWhileTaken {
    private static final Geometry ALL = Geometry.of(1 << 16).local(16);
    private static final String SOURCE = """
        kernel __attribute__((reqd_work_group_size(16, 1, 1))) void fill(
                global float* in, global float* out) {
            float x = get_global_id(0);
            for (int i = 0; i < 50; i++) { x = x * 0.5f + ADDED; }
            out[get_global_id(0)] = x;
        }
        """;

    private LaunchWhileTaken() {}

    /** Runs with the number of programs, and {@code own} for own launches. */
    public static void main(String[] arguments) throws Exception {
        boolean isOwn = arguments.length > 1;
        int launches = 0;
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                OpenClBuffer out = engine.buffer(4L << 16)) {
            for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
                KernelProgram primitive =
                        engine.create(KernelDescriptor.builder(engine.target(), "fill")
                                .source(SOURCE)
                                .options("-DADDED=" + i)
                                .build());
                try (LoadedKernels kernels = engine.load(primitive);
                        OpenClProgram program = isOwn ? engine.program(primitive) : null) {
                    Runnable launch = isOwn
                            ? () -> LwjglContext.run(
                                    engine.context(),
                                    engine.queue(),
                                    program.handle(),
                                    "fill",
                                    new float[1 << 16])
                            : () -> kernels.launch("fill", ALL, out, out);
                    launch.run();
                    CompletableFuture<Boolean> taking = CompletableFuture.supplyAsync(
                            () -> primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
                    while (!taking.isDone()) {
                        launch.run();
                        launches++;
                    }
                    System.out.println("taken" + i + "=" + !taking.join());
                }
            }
        }
        System.out.println("launches=" + launches);
    }
}
