package dev.granary.gpu.trial;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The process of a {@link RestoreTrial}. */
final class TrialMain {
    /** The line that is printed before the driver gets the binaries. */
    static final String RESTORING = "granary: restoring";

    /** The line that is printed after the driver has returned. */
    static final String RESTORED = "granary: the driver has returned";

    /** A text that never compiles: a driver that refuses the binaries builds nothing else. */
    private static final String NO_SOURCE = "#error no source";

    private TrialMain() {}

    /**
     * Runs the process.
     *
     * @param arguments the file of the {@link TrialInput}
     */
    public static void main(String[] arguments) throws Exception {
        TrialInput input = TrialInput.decode(Files.readAllBytes(Path.of(arguments[0])));
        Backend backend = Backend.ofPath(
                        input.target().substring(0, input.target().indexOf('/')))
                .orElseThrow(() -> new IllegalArgumentException("no backend: " + input.target()));
        boolean isFound =
                switch (backend) {
                    case OPENCL -> tryOpenCl(input);
                    case LEVEL_ZERO -> tryLevelZero(input);
                };
        print(isFound ? RESTORED : "no device has the target " + input.target());
        // not exit: the destructors of a driver are not tried
        Runtime.getRuntime().halt(isFound ? 0 : 1);
    }

    private static boolean tryOpenCl(TrialInput input) {
        List<OpenClDevice> devices =
                OpenCl.probe() instanceof OpenCl.Probe.Found found ? found.devices() : List.of();
        Optional<OpenClDevice> device = devices.stream()
                .filter(one -> one.target().path().equals(input.target()))
                .findFirst();
        device.ifPresent(one -> restore(OpenClEngine.open(one), input));
        return device.isPresent();
    }

    private static boolean tryLevelZero(TrialInput input) {
        Optional<LevelZeroDevice> device = LevelZero.devices().stream()
                .filter(one -> one.target().path().equals(input.target()))
                .findFirst();
        device.ifPresent(one -> restore(LevelZeroEngine.open(one), input));
        return device.isPresent();
    }

    private static <P extends Primitive> void restore(KernelEngine<P> engine, TrialInput input) {
        KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "trial")
                .source(NO_SOURCE)
                .entry(input.kernels().toArray(String[]::new))
                .build();
        print(RESTORING);
        try (LoadedKernels _ =
                engine.load(engine.create(descriptor, input.binaries(), BinaryKind.KERNEL))) {
            // the kernels were created
        } catch (RestoreException | RuntimeException e) {
            print("refused: " + e.getMessage());
        }
    }

    /** Prints a line of its own, whatever the driver has printed. */
    private static void print(String line) {
        System.out.print("\n" + line + "\n");
        System.out.flush();
    }
}
