package dev.granary.cli.kernel;

import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroEngine;

import java.nio.file.Path;

/** Program that gets the kernels of a manifest on the first device of Level Zero. */
public final class OfflineNodeProgram {
    private OfflineNodeProgram() {}

    /** Runs with the manifest and the local directory; the bucket is in the environment. */
    public static void main(String[] arguments) throws Exception {
        if (LevelZero.devices().isEmpty()) {
            System.out.println("missing=" + LevelZero.probe());
            return;
        }
        GranaryConfig config = GranaryConfig.fromEnvironment();
        try (Granary granary = Granary.open(config);
                LevelZeroEngine engine =
                        LevelZeroEngine.open(LevelZero.devices().getFirst())) {
            System.out.println("target=" + engine.target().path());
            for (KernelSpec kernel : KernelManifest.read(Path.of(arguments[0]))) {
                KernelDescriptor descriptor =
                        KernelSourceResolver.descriptor(kernel, engine.target());
                var lookup = granary.lookup(engine, descriptor);
                System.out.println(kernel.name() + ".source=" + lookup.source());
                System.out.println(
                        kernel.name() + ".origin=" + lookup.primitive().origin());
            }
            System.out.println("counters=" + granary.statistics().counters());
        }
    }
}
