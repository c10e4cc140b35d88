package dev.granary.gpu.binary;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Program that compiles a kernel on the first device of a platform, and compares the check of
 * another device's binary with the answer of the driver.
 */
public final class BinaryCheckProgram {
    private BinaryCheckProgram() {}

    /**
     * Prints the results for the binary in the file that the first argument names; writes the file
     * if it is missing. The second argument is a part of the platform's name.
     */
    public static void main(String[] arguments) throws Exception {
        Optional<OpenClDevice> device = OpenCl.devices().stream()
                .filter(found -> found.platformName().contains(arguments[1]))
                .findFirst();
        if (device.isEmpty()) {
            System.out.println("device=none");
            return;
        }
        try (OpenClEngine engine = OpenClEngine.open(device.get())) {
            KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "saxpy")
                    .source(new String(SampleBinaries.bytes("saxpy.cl"), UTF_8))
                    .extraDigest("the environment of this test")
                    .build();
            KernelBinaries own = engine.create(descriptor).getBinaries(BinaryKind.KERNEL);
            System.out.println("device=" + engine.target().device());
            System.out.println("own=" + CompatibilityChecker.check(engine.target(), own));
            System.out.println("format="
                    + BinaryContainer.read(own.segments().getFirst()).getClass().getSimpleName());
            if (Files.notExists(Path.of(arguments[0]))) {
                Files.write(Path.of(arguments[0]), own.toByteArrays().getFirst());
                return;
            }
            KernelBinaries other = KernelBinaries.of(Files.readAllBytes(Path.of(arguments[0])));
            System.out.println("other=" + CompatibilityChecker.check(engine.target(), other));
            System.out.println("driver=" + answer(engine, descriptor, other));
        }
    }

    private static String answer(
            OpenClEngine engine, KernelDescriptor descriptor, KernelBinaries binaries) {
        try {
            return engine.create(descriptor, binaries, BinaryKind.KERNEL)
                    .origin()
                    .name();
        } catch (RestoreException e) {
            return "REFUSED";
        }
    }
}
