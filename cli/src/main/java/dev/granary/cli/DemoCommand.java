package dev.granary.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.process.JvmCommand;
import dev.granary.demo.Demo;
import dev.granary.demo.DemoRoleResult;
import dev.granary.demo.DemoRoleResult.KernelResult;
import dev.granary.demo.DemoRoleResult.TuningResult;
import dev.granary.demo.DriverCacheSettings;
import dev.granary.gpu.levelzero.LevelZero;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

/** {@code granary demo}: the main use case with embedded defaults. */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        description = "Compile real kernels once, on one machine, and use them on two others that"
                + " compile nothing.")
final class DemoCommand implements Callable<Integer> {
    static final String QUICK = "--quick";

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(names = "--json", description = "print one JSON object")
    private boolean json;

    @Option(names = QUICK, description = "eight kernels instead of thirty")
    private boolean quick;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        try (Demo demo =
                new Demo(childCommand(), deviceSource(), line -> showProgress(err, line))) {
            Demo.Results results = demo.run();
            if (json) {
                JsonOutput.print(out, json(results));
            } else {
                print(out, results);
            }
            return results.isSuccess() ? 0 : 1;
        } catch (IOException e) {
            throw new CommandFailedException("the demo failed: " + e.getMessage());
        }
    }

    /**
     * Returns the origin of the device: simulated if Level Zero is selected and has no device here.
     */
    private Demo.DeviceSource deviceSource() throws UsageException {
        return device.selection().backend().equals(Optional.of(Backend.LEVEL_ZERO))
                        && LevelZero.devices().isEmpty()
                ? Demo.DeviceSource.SIMULATED
                : Demo.DeviceSource.INSTALLED;
    }

    private void showProgress(PrintWriter err, String line) {
        if (!json) {
            err.println(line + " ...");
            err.flush();
        }
    }

    private List<String> childCommand() {
        List<String> command = JvmCommand.command(Main.class, "demo-role");
        command.addAll(device.arguments());
        if (quick) {
            command.add(QUICK);
        }
        return command;
    }

    private static void print(PrintWriter out, Demo.Results results) {
        out.println();
        out.println("Device: " + results.ci().device());
        out.println(
                results.ci().isChecked()
                        ? "Times until every kernel has run once: lookup, loading, first launches."
                        : "Times until every kernel is loaded: lookup and loading.");
        out.println();
        TextTable table = new TextTable("kernel", "size", "compiled", "bucket", "disk", "faster");
        for (int i = 0; i < results.ci().kernels().size(); i++) {
            row(table, results, i);
        }
        table.row(
                "total",
                Units.bytes(results.ci().kernels().stream()
                        .mapToLong(KernelResult::bytes)
                        .sum()),
                Units.millis(results.ci().millis()),
                Units.millis(results.node().millis()),
                Units.millis(results.laptop().millis()),
                faster(results.ci().millis(), results.laptop().millis()));
        for (int i = results.ci().kernels().size(); i < results.ci().all().size(); i++) {
            row(table, results, i);
        }
        table.print(out);
        printTuning(out, results);
        out.println();
        TextTable roles = new TextTable(
                "machine", "compiled", "bucket", "disk", "memory", "made", "reused", "right");
        for (DemoRoleResult role : roles(results)) {
            roles.row(
                    role.role(),
                    Long.toString(role.count("compiled")),
                    Long.toString(role.count("bucket")),
                    Long.toString(role.count("local")),
                    Integer.toString(role.memory()),
                    Long.toString(role.constants().made()),
                    Long.toString(role.constants().reused()),
                    role.isChecked() ? role.verified() + " of " + role.all().size() : "-");
        }
        roles.print(out);
        for (DemoRoleResult role : roles(results)) {
            role.all().stream()
                    .filter(kernel -> !kernel.isRight())
                    .forEach(kernel -> out.println("WRONG on " + role.role() + ": " + kernel.name()
                            + ": " + kernel.problem()));
            if (!role.constants().isRight()) {
                out.println("WRONG on " + role.role() + ", with constant weights: "
                        + role.constants().problem());
            }
        }
        out.println();
        out.println("'faster': how many times faster from disk than compiled. The laptop had no"
                + " bucket.");
        if (results.ci().constants().made() == 0) {
            out.println("'memory': found again in memory. Constants are shown with OpenCL only.");
        } else {
            out.println("'memory': found again in memory. 'made', 'reused': constants, which are"
                    + " weights of");
            out.println(Units.bytes(results.ci().constants().bytes())
                    + ", packed once on each machine and used by two primitives in turn.");
        }
        if (!results.ci().isChecked()) {
            out.println("The driver simulates this device, which computes nothing: no kernel was"
                    + " launched,");
            out.println("and no result was checked. Compiling, binaries and restoring are real.");
        }
        out.println("Driver caches switched off:");
        DriverCacheSettings.described().forEach(cache -> out.println("  " + cache));
        out.println(
                results.isSuccess()
                        ? success(results.ci())
                        : "FAILED: node or laptop compiled or tuned something, constants were"
                                + " made more"
                                + System.lineSeparator() + "than once, or a result is wrong.");
        out.flush();
    }

    private static void row(TextTable table, Demo.Results results, int kernel) {
        KernelResult ci = results.ci().all().get(kernel);
        KernelResult node = results.node().all().get(kernel);
        KernelResult laptop = results.laptop().all().get(kernel);
        table.row(
                ci.name(),
                Units.bytes(ci.bytes()),
                Units.millis(ci.readyMillis()),
                Units.millis(node.readyMillis()),
                Units.millis(laptop.readyMillis()),
                faster(ci.readyMillis(), laptop.readyMillis()));
    }

    private static void printTuning(PrintWriter out, Demo.Results results) {
        TuningResult ci = results.ci().tuning();
        if (ci == null || !ci.kernel().isRight()) {
            return; // none, or a failure that is reported below
        }
        out.println();
        out.println(ci.kernel().name()
                + " is the fastest plan that ci found; its times, not in the total,");
        out.println("include the search. Plans tried, of " + ci.points() + ": "
                + roles(results).stream()
                        .map(role -> role.role() + " " + role.tried())
                        .collect(Collectors.joining(", "))
                + ".");
        out.println(String.format(
                Locale.ROOT, "On ci it was %.1f times as fast as the naive plan.", ci.speedup()));
    }

    private static String success(DemoRoleResult ci) {
        return (ci.tuning() == null
                        ? "Compiled once; node and laptop compiled nothing"
                        : "Compiled and tuned once; node and laptop compiled and tuned nothing")
                + (ci.constants().made() == 0
                        ? ""
                        : "," + System.lineSeparator() + "constants were made once")
                + (ci.isChecked() ? ", and every result is right." : ".");
    }

    private static JsonObject json(Demo.Results results) {
        JsonArray roleArray = new JsonArray();
        for (DemoRoleResult role : roles(results)) {
            roleArray.add(JsonOutput.object(
                    "role",
                    role.role(),
                    "compiled",
                    role.count("compiled"),
                    "bucket",
                    role.count("bucket"),
                    "local",
                    role.count("local"),
                    "memory",
                    role.memory(),
                    "planFrom",
                    role.planSource(),
                    "plansTried",
                    role.tried(),
                    "constantsMade",
                    role.constants().made(),
                    "constantsReused",
                    role.constants().reused(),
                    "constantsRight",
                    role.constants().isRight(),
                    "verified",
                    role.verified(),
                    "millis",
                    role.millis()));
        }
        JsonArray kernelArray = new JsonArray();
        for (int i = 0; i < results.ci().all().size(); i++) {
            KernelResult ci = results.ci().all().get(i);
            KernelResult node = results.node().all().get(i);
            KernelResult laptop = results.laptop().all().get(i);
            kernelArray.add(JsonOutput.object(
                    "name",
                    ci.name(),
                    "bytes",
                    ci.bytes(),
                    "compiledMillis",
                    ci.readyMillis(),
                    "bucketMillis",
                    node.readyMillis(),
                    "localMillis",
                    laptop.readyMillis(),
                    "right",
                    ci.isRight() && node.isRight() && laptop.isRight()));
        }
        JsonArray caches = new JsonArray();
        DriverCacheSettings.described().forEach(caches::add);
        return JsonOutput.object(
                "kernels",
                results.ci().all().size(),
                "roles",
                roleArray,
                "results",
                kernelArray,
                "device",
                results.ci().device(),
                "checked",
                results.ci().isChecked(),
                "lowerCachesOff",
                caches,
                "success",
                results.isSuccess());
    }

    private static List<DemoRoleResult> roles(Demo.Results results) {
        return List.of(results.ci(), results.node(), results.laptop());
    }

    private static String faster(double slow, double fast) {
        return String.format(Locale.ROOT, "%.0f", slow / fast);
    }
}
