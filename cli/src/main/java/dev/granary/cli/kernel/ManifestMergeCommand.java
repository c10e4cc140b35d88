package dev.granary.cli.kernel;

import dev.granary.cli.command.OutputCommand;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.RecordedInputs;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.cli.source.KernelSourceResolver;
import dev.granary.coordinator.recording.RecordedKernel;
import dev.granary.coordinator.recording.RecordingFile;
import dev.granary.coordinator.toml.SafeText;

import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** {@code granary manifest merge}: adds the kernels of manifests to a recording. */
@Command(
        name = "merge",
        mixinStandardHelpOptions = true,
        description = {
            "Add the kernels of all MANIFESTs, with their sources and headers, to OUT.",
            "OUT is a new file, or a recording. If a kernel cannot be read, nothing is written."
        })
final class ManifestMergeCommand extends OutputCommand {
    @Parameters(index = "0", paramLabel = "OUT", description = "the recording to create or extend")
    private Path merged = Path.of("");

    @Parameters(
            index = "1..*",
            arity = "1..*",
            paramLabel = "MANIFEST",
            description = "recordings, and manifests with [[kernel]] tables")
    private List<Path> manifests = List.of();

    @Override
    public Integer call() throws UsageException, KernelManifestException, CommandFailedException {
        RecordingFile recording = new RecordingFile(merged);
        try {
            recording.check();
        } catch (IOException e) {
            throw new UsageException(merged + " cannot be written: " + e.getMessage());
        }
        List<RecordedKernel> kernels = new ArrayList<>();
        int failures = 0;
        PrintWriter err = err();
        for (Path manifest : manifests) {
            List<KernelSpec> specs = KernelManifest.read(manifest).kernels();
            try (ProgressLine progress =
                    new ProgressLine(err, "reading " + manifest.getFileName(), specs.size())) {
                for (int i = 0; i < specs.size(); i++) {
                    KernelSpec kernel = specs.get(i);
                    progress.at(i, kernel.name());
                    try {
                        kernels.add(new RecordedKernel(
                                KernelSourceResolver.withoutDevice(kernel),
                                kernel.recorded().map(RecordedInputs::ids).orElse(List.of())));
                    } catch (IOException | RuntimeException e) {
                        failures++;
                        err.println("FAILED " + manifest + ": " + SafeText.inOneLine(kernel.name())
                                + ": " + e.getMessage());
                    }
                }
            }
        }
        if (failures > 0) {
            throw new CommandFailedException(Units.plural(failures, "kernel")
                    + " cannot be read, and " + merged + " was not changed");
        }
        int added;
        try {
            added = recording.add(kernels, List.of());
        } catch (IOException e) {
            throw new CommandFailedException(merged + " cannot be written: " + e.getMessage());
        }
        PrintWriter out = out();
        if (isJson()) {
            JsonOutput.print(
                    out,
                    JsonOutput.object("file", merged, "kernels", kernels.size(), "added", added));
        } else {
            out.println(Units.plural(kernels.size(), "kernel") + " read, " + added + " added to "
                    + merged);
            out.flush();
        }
        return 0;
    }
}
