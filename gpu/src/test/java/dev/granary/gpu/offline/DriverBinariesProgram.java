package dev.granary.gpu.offline;

import dev.granary.cache.BinaryKind;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Program that compiles the samples on Intel's driver, and writes each binary to a file of the
 * sample's name. It prints the target of the device.
 */
public final class DriverBinariesProgram {
    private DriverBinariesProgram() {}

    /** Runs with the backend, {@code opencl} or {@code level-zero}, and the directory of files. */
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[1]);
        if (arguments[0].equals("opencl")) {
            var device = OpenCl.devices().stream()
                    .filter(found -> found.target().vendor().equals("intel"))
                    .findFirst();
            if (device.isEmpty()) {
                System.out.println("missing=no device of Intel's OpenCL");
                return;
            }
            try (OpenClEngine engine = OpenClEngine.open(device.get())) {
                write(engine, directory);
            }
        } else if (LevelZero.devices().isEmpty()) {
            System.out.println("missing=" + LevelZero.probe());
        } else {
            try (LevelZeroEngine engine =
                    LevelZeroEngine.open(LevelZero.devices().getFirst())) {
                write(engine, directory);
            }
        }
    }

    private static void write(KernelEngine engine, Path directory) throws Exception {
        System.out.println("target=" + engine.target().path());
        for (Map.Entry<String, KernelDescriptor> sample :
                OfflineSamples.of(engine.target()).entrySet()) {
            KernelProgram program = engine.create(sample.getValue());
            Files.write(
                    directory.resolve(sample.getKey()),
                    program.getBinaries(BinaryKind.KERNEL).toByteArrays().getFirst());
            System.out.println(sample.getKey() + ".kernels=" + program.kernels());
        }
    }
}
