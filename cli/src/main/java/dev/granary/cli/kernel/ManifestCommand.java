package dev.granary.cli.kernel;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.Device;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * {@code granary manifest}: shows the kernels of a manifest and what is wrong with them. Without a
 * device it checks the files, and the ids of a recording.
 */
@Command(
        description = {
            "Show the kernels of a manifest, with their ids for this machine's device if it has"
                    + " one, and what is wrong with their files and recorded ids.",
            "The exit code is 1 if a kernel has a problem, and 2 if MANIFEST is not a manifest."
        })
public final class ManifestCommand extends OutputCommand {
    private static final Target NO_DEVICE = new Target(Backend.OPENCL, "granary", "none", "none");

    @Parameters(paramLabel = "MANIFEST", description = "a recording or a kernel manifest")
    private Path manifest = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    private final List<String> problems = new ArrayList<>();
    private final Map<String, Id> ids = new LinkedHashMap<>(); // by kernel, without a device

    @Override
    protected boolean run(Report report)
            throws TomlException, CommandFailedException, ConfigException {
        List<KernelSpec> kernels = KernelManifest.read(manifest);
        Optional<Target> target = device.ifAny(DeviceSelection::one).map(Device::target);
        report.table("kernels", kernels)
                .column("~kernel", KernelSpec::name)
                .column("~sources", ManifestCommand::sources)
                .column("~options", kernel -> BuildOptions.format(kernel.options()))
                .column("~launches", KernelSpec::launches)
                .column("targets", ManifestCommand::targets)
                .column("<id", kernel -> id(kernel, target));
        int recorded =
                kernels.stream().mapToInt(kernel -> kernel.recordedIds().size()).sum();
        ids.forEach((kernel, id) -> UnstableInputs.add(kernel, id, report));
        problems.forEach(report::problem);
        report.line(Units.plural(kernels.size(), "kernel") + ", "
                + Units.plural(recorded, "recorded id") + ", "
                + Units.plural(problems.size(), "problem"));
        return problems.isEmpty();
    }

    private static Report.Shown sources(KernelSpec kernel) {
        return new Report.Shown(
                kernel.sources(),
                kernel.sources().stream()
                        .map(source -> String.valueOf(source.getFileName()))
                        .collect(Collectors.joining(", ")));
    }

    private static Report.Shown targets(KernelSpec kernel) {
        return new Report.Shown(
                kernel.recordedIds().stream()
                        .map(id -> Map.of("target", id.target().path(), "id", id.hash()))
                        .toList(),
                Units.count(kernel.recordedIds().size()));
    }

    /** Checks a kernel, and returns its id for a target; empty if it has none. */
    private Optional<Object> id(KernelSpec kernel, Optional<Target> target) {
        try {
            for (RecordedId id : kernel.recordedIds()) {
                Id computed = KernelSourceResolver.descriptor(kernel, id).getId();
                if (!computed.isEmpty() && !computed.hash().hex().equals(id.hash())) {
                    problem(
                            kernel,
                            "its id for " + id.target().name() + " is " + computed + ", but "
                                    + id.hash() + " was recorded: a file or a key was changed;"
                                    + " record it again, or remove this target");
                }
            }
            Id any = KernelSourceResolver.descriptor(kernel, NO_DEVICE).getId();
            if (any.isEmpty()) {
                problem(kernel, "it is not cacheable: " + any.reason());
            } else {
                ids.put(kernel.name(), any);
                if (target.isPresent()) {
                    return Optional.of(KernelSourceResolver.descriptor(kernel, target.get())
                            .getId()
                            .hash());
                }
            }
        } catch (IOException | RuntimeException e) { // such as an id that would be too long
            problem(kernel, String.valueOf(e.getMessage()));
        }
        return Optional.empty();
    }

    private void problem(KernelSpec kernel, String message) {
        problems.add(kernel.place() + ": kernel '" + SafeText.inOneLine(kernel.name()) + "': "
                + message);
    }
}
