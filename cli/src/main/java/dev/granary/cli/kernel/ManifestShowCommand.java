package dev.granary.cli.kernel;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cli.command.OutputCommand;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.RecordedInputs;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.source.KernelSourceResolver;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.Launch;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** {@code granary manifest show}: lists the kernels of a manifest. */
@Command(
        name = "show",
        mixinStandardHelpOptions = true,
        description = {
            "List the kernels of a manifest: source, options, launches, recorded targets, and the"
                    + " id for this machine's device."
        })
final class ManifestShowCommand extends OutputCommand {
    private static final String NONE = "-";
    private static final int SOURCE_WIDTH = 14;
    private static final int TEXT_WIDTH = 18;

    @Parameters(paramLabel = "MANIFEST", description = "a recording or a kernel manifest")
    private Path manifest = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Override
    public Integer call() throws KernelManifestException, CommandFailedException, UsageException {
        List<KernelSpec> kernels = KernelManifest.read(manifest).kernels();
        Optional<Target> target = target();
        JsonArray all = new JsonArray();
        TextTable table =
                new TextTable("kernel", "<source", "<options", "<launches", "targets", "<id here");
        for (KernelSpec kernel : kernels) {
            String id = target.isPresent() ? id(kernel, target.get()) : NONE;
            List<String> launches =
                    kernel.launches().stream().map(Launch::toString).toList();
            List<RecordedId> targets =
                    kernel.recorded().map(RecordedInputs::ids).orElse(List.of());
            all.add(json(kernel, id, launches, targets));
            table.row(
                    kernel.name(),
                    first(
                            kernel.sources().stream()
                                    .map(source -> String.valueOf(source.getFileName()))
                                    .toList(),
                            SOURCE_WIDTH),
                    first(List.of(BuildOptions.format(kernel.options())), TEXT_WIDTH),
                    first(launches, TEXT_WIDTH),
                    Units.count(targets.size()),
                    id.substring(0, Math.min(id.length(), Units.SHORT_ID)));
        }
        if (isJson()) {
            JsonOutput.print(out(), JsonOutput.object("file", manifest, "kernels", all));
        } else {
            table.print(out());
        }
        return 0;
    }

    /** Returns the target of the chosen device; empty if none is chosen and there is none. */
    private Optional<Target> target() throws CommandFailedException, UsageException {
        try {
            return Optional.of(device.device().target());
        } catch (CommandFailedException e) {
            if (!device.arguments().isEmpty()) {
                throw e;
            }
            return Optional.empty();
        }
    }

    private static String id(KernelSpec kernel, Target target) {
        try {
            Id id = KernelSourceResolver.descriptor(kernel, target).getId();
            return id.isEmpty() ? "not cacheable" : id.toString();
        } catch (IOException | RuntimeException e) {
            return "unreadable"; // check shows why
        }
    }

    /** Returns the first text, shortened, and the number of further ones. */
    private static String first(List<String> texts, int width) {
        if (texts.isEmpty() || texts.getFirst().isEmpty()) {
            return NONE;
        }
        String more = texts.size() == 1 ? "" : " +" + (texts.size() - 1);
        return Units.cut(texts.getFirst(), width - more.length()) + more;
    }

    private static JsonObject json(
            KernelSpec kernel, String id, List<String> launches, List<RecordedId> targets) {
        JsonArray recorded = new JsonArray();
        for (RecordedId each : targets) {
            recorded.add(JsonOutput.object("target", each.target().path(), "id", each.hash()));
        }
        return JsonOutput.object(
                "name",
                kernel.name(),
                "sources",
                JsonOutput.strings(kernel.sources().stream().map(Path::toString).toList()),
                "options",
                BuildOptions.format(kernel.options()),
                "entries",
                JsonOutput.strings(kernel.entries()),
                "launches",
                JsonOutput.strings(launches),
                "targets",
                recorded,
                "id",
                id);
    }
}
