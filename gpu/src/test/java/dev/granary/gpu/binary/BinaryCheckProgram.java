package dev.granary.gpu.binary;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Program that compiles a kernel on its first device, and compares the check of another device's
 * binary with the answer of the driver.
 */
public final class BinaryCheckProgram {
    private BinaryCheckProgram() {}

    /** Prints the results for the binary in the file that the first argument names. */
    public static void main(String[] arguments) throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
            KernelDescriptor descriptor = KernelDescriptor.builder(engine.target(), "saxpy")
                    .source(new String(
                            SampleBinaries.bytes("saxpy.cl"),
                            java.nio.charset.StandardCharsets.UTF_8))
                    .build();
            KernelBinaries own = engine.create(descriptor).getBinaries(BinaryKind.KERNEL);
            System.out.println("device=" + engine.target().device());
            System.out.println("own=" + CompatibilityChecker.check(engine.target(), own));
            System.out.println(
                    "container=" + BinaryContainer.read(own.binary(0)).getClass().getSimpleName());
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
            return engine.create(descriptor, binaries, BinaryKind.KERNEL).origin().name();
        } catch (RestoreException e) {
            return "REFUSED";
        }
    }
}
