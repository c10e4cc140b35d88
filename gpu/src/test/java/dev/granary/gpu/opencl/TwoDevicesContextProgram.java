package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.constant.ConstantHold;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Program with one context of two devices, and an engine over a queue of each. */
public final class TwoDevicesContextProgram {
    private TwoDevicesContextProgram() {}

    /** Prints the results. */
    public static void main(String[] arguments) throws Exception {
        List<OpenClDevice> devices = OpenCl.devices();
        long first = devices.get(0).handle();
        long second = devices.get(1).handle();
        try (LwjglContext application = LwjglContext.on(first, second);
                ConstantTensorCaches caches = new ConstantTensorCaches(ConstantLimits.NONE)) {
            long otherQueue = application.queueOn(second, false);
            try (OpenClEngine one = application.wrap();
                    OpenClEngine other =
                            OpenClEngine.wrap(application.context, second, otherQueue)) {
                List<OpenClEngine> engines = List.of(one, other);
                System.out.println("sameTarget=" + one.target().equals(other.target()));
                for (int i = 0; i < 2; i++) {
                    run(engines.get(i), i);
                }
                constants(caches, engines);
            }
            try {
                OpenClEngine.wrap(application.context, first, otherQueue).close();
            } catch (IllegalArgumentException e) {
                System.out.println("swapped=" + e.getMessage());
            }
        }
    }

    private static void run(OpenClEngine engine, int number) throws Exception {
        KernelProgram compiled =
                engine.create(SampleKernels.builder(engine.target()).build());
        print("compiled" + number, engine, compiled);
        KernelProgram restored = engine.create(
                compiled.descriptor(), compiled.getBinaries(BinaryKind.KERNEL), BinaryKind.KERNEL);
        print("restored" + number, engine, restored);
    }

    private static void print(String name, OpenClEngine engine, KernelProgram primitive)
            throws Exception {
        try (LoadedKernels kernels = engine.load(primitive)) {
            float[] result = SampleKernels.reverse(engine, kernels, SampleKernels.SMALL_GROUPS);
            System.out.println(name + "=" + Arrays.hashCode(result));
        }
    }

    private static void constants(ConstantTensorCaches caches, List<OpenClEngine> engines) {
        AtomicInteger made = new AtomicInteger();
        List<Long> entries = new ArrayList<>();
        for (OpenClEngine engine : engines) {
            OpenClConstants constants = new OpenClConstants(caches, engine);
            for (int use = 0; use < 2; use++) {
                try (ConstantHold<OpenClBuffer> _ = constants.get("weights", 16, () -> {
                    made.incrementAndGet();
                    return engine.bufferOf(new byte[16]);
                })) {
                    // in use
                }
            }
            entries.add(constants.cache().statistics().made());
        }
        System.out.println("entries=" + entries);
        System.out.println("made=" + made);
    }
}
