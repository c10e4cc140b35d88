package dev.granary.cli.kernel;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.plan.PlanFile;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.Launch;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.plans.tuning.TunedPlan;
import dev.granary.plans.tuning.TunedPlans;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The kernel of the best plan of a space, as a kernel of a manifest.
 *
 * @param outcome the id of the outcome that names the plan
 * @param spec the kernel, with its source in a file
 */
record TunedKernel(Id outcome, KernelSpec spec) {
    /**
     * Finds the stored outcome of a plan file for a device.
     *
     * @param directory receives the source
     * @throws CommandFailedException if no tier has an outcome
     */
    static TunedKernel find(Path file, OpenClDevice device, GranaryConfig config, Path directory)
            throws TomlException, ConfigException, CommandFailedException, IOException {
        PlanSpace space = PlanFile.readSpace(file);
        try (Granary granary = Granary.open(config)) {
            TunedPlan tuned = new TunedPlans(granary)
                    .find(space, device.target())
                    .orElseThrow(() -> new CommandFailedException("no tier has an outcome for "
                            + file + " and " + device + "; run granary tune " + file
                            + " before"));
            return new TunedKernel(tuned.descriptor().getId(), spec(tuned.plan(), directory));
        }
    }

    private static KernelSpec spec(KernelPlan plan, Path directory) throws IOException {
        Path source = directory.resolve(plan.name() + ".cl");
        Files.writeString(source, plan.source(), UTF_8);
        return new KernelSpec(
                plan.name(),
                "",
                List.of(source),
                List.of(),
                List.of(),
                List.of(plan.name()),
                List.of(new Launch(plan.name(), plan.geometry())),
                "",
                "",
                Optional.empty());
    }
}
