package dev.granary.cli.kernel;

import com.google.gson.JsonArray;

import dev.granary.cli.command.OutputCommand;
import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.Units;
import dev.granary.cli.source.ManifestChecker;
import dev.granary.cli.source.ManifestChecker.Problem;
import dev.granary.coordinator.toml.SafeText;

import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.io.PrintWriter;
import java.nio.file.Path;

/** {@code granary manifest check}: checks a manifest without a device. */
@Command(
        name = "check",
        mixinStandardHelpOptions = true,
        description = {
            "Check a manifest without a device: its files, and the ids of a recording.",
            "The exit code is 1 if a kernel has a problem, and 2 if MANIFEST is not a manifest."
        })
final class ManifestCheckCommand extends OutputCommand {
    @Parameters(paramLabel = "MANIFEST", description = "a recording or a kernel manifest")
    private Path manifest = Path.of("");

    @Override
    public Integer call() throws KernelManifestException {
        ManifestChecker checked = ManifestChecker.check(manifest);
        PrintWriter out = out();
        if (isJson()) {
            JsonArray problems = new JsonArray();
            for (Problem problem : checked.problems()) {
                problems.add(JsonOutput.object(
                        "kernel",
                        problem.kernel(),
                        "line",
                        problem.line(),
                        "message",
                        problem.message()));
            }
            JsonOutput.print(
                    out,
                    JsonOutput.object(
                            "file",
                            manifest,
                            "kernels",
                            checked.kernels(),
                            "ids",
                            checked.ids(),
                            "problems",
                            problems));
        } else {
            for (Problem problem : checked.problems()) {
                out.println(manifest + (problem.line() == 0 ? "" : ":" + problem.line())
                        + ": kernel '" + SafeText.inOneLine(problem.kernel()) + "': "
                        + problem.message() + ".");
            }
            out.println(Units.plural(checked.kernels(), "kernel") + ", "
                    + Units.plural(checked.ids(), "recorded id") + ", "
                    + Units.plural(checked.problems().size(), "problem"));
            out.flush();
        }
        return checked.problems().isEmpty() ? 0 : 1;
    }
}
