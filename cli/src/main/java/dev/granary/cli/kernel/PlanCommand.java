package dev.granary.cli.kernel;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cli.command.OutputCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.plan.PlanFile;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.PlanReport;
import dev.granary.plans.PlanReport.CacheReport;
import dev.granary.plans.picture.PlanPicture;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Collectors;

/** {@code granary plan}: shows the kernel of a plan, its caches, and the device's limits. */
@Command(
        name = "plan",
        mixinStandardHelpOptions = true,
        description = {
            "Show a kernel plan: its caches with their blocks and bytes, the launch, and whether"
                    + " the device can run it. Fails if it cannot."
        })
public final class PlanCommand extends OutputCommand {
    @Parameters(paramLabel = "FILE", description = "a plan in TOML")
    private Path file = Path.of("");

    @Option(names = "--emit", description = "print the kernel in OpenCL C before")
    private boolean emit;

    @Option(
            names = "--picture",
            paramLabel = "SVG",
            description = "write a picture of loops, arrays and blocks to this file")
    private @Nullable Path picture;

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Override
    public Integer call() throws TomlException, CommandFailedException, UsageException {
        KernelPlan plan = PlanFile.read(file);
        PlanReport report = plan.report();
        if (picture != null) {
            write(picture, PlanPicture.svg(plan));
        }
        Optional<OpenClDevice> chosen = device();
        if (isJson()) {
            JsonOutput.print(out(), json(plan, report, chosen));
        } else {
            print(plan, report, chosen);
        }
        if (chosen.isPresent()) {
            try {
                report.check(chosen.get().limits());
            } catch (IllegalArgumentException e) {
                throw new CommandFailedException(String.valueOf(e.getMessage()));
            }
        }
        return 0;
    }

    private static void write(Path to, String text) throws CommandFailedException {
        try {
            Files.writeString(to, text);
        } catch (IOException e) {
            throw new CommandFailedException("The picture " + to + " cannot be written: "
                    + (e instanceof NoSuchFileException
                            ? "there is no such directory"
                            : e.toString()));
        }
    }

    /** Returns the chosen device; empty if none is chosen and there is none. */
    private Optional<OpenClDevice> device() throws CommandFailedException, UsageException {
        try {
            return Optional.of(device.openClDevice());
        } catch (CommandFailedException e) {
            if (device.isGiven()) {
                throw e;
            }
            return Optional.empty();
        }
    }

    private void print(KernelPlan plan, PlanReport report, Optional<OpenClDevice> chosen) {
        if (emit) {
            out().println(plan.source());
        }
        if (!report.caches().isEmpty()) {
            TextTable table = new TextTable(
                    "cache of", "level", "<block", "elements", "<memory", "bytes", "buffer");
            for (CacheReport cache : report.caches()) {
                table.row(
                        cache.array(),
                        String.valueOf(cache.level()),
                        block(cache),
                        Units.count(cache.elements()),
                        cache.isElided() ? "elided" : cache.location().toString(),
                        Units.count(cache.bytes()),
                        Units.count(cache.bufferBytes()));
            }
            table.print(out());
            out().println();
        }
        out().println("launch          " + report.geometry());
        out().println("local memory    " + Units.count(report.localBytes())
                + " bytes for a work-group");
        out().println("private memory  " + Units.count(report.privateBytes())
                + " bytes for a work-item");
        out().println("copies elided   "
                + report.caches().stream().filter(CacheReport::isElided).count()
                + tails(report));
        if (chosen.isPresent()) {
            DeviceLimits limits = chosen.get().limits();
            out().println("device          " + chosen.get().name());
            out().println("  local memory  " + Units.count(limits.localBytes()) + " bytes");
            out().println("  work-group    " + Units.count(limits.groupItems()) + " work-items");
            out().println("  resident      " + Units.count(report.residentGroups(limits))
                    + " work-groups at once, by these limits");
            out().println("id              " + id(plan, chosen.get()));
        } else {
            out().println("device          none; the plan was not compared with limits");
        }
        out().flush();
    }

    /** Returns the number of caches that some tiles leave out, if there are any. */
    private static String tails(PlanReport report) {
        long count =
                report.caches().stream().filter(CacheReport::isElidedInTails).count();
        return count == 0 ? "" : "; in incomplete tiles also " + count;
    }

    private static String block(CacheReport cache) {
        return cache.block().stream().map(String::valueOf).collect(Collectors.joining(" x "));
    }

    /** Returns the id of the kernel on a device; a line if the device cannot run it. */
    private static String id(KernelPlan plan, OpenClDevice device) {
        try {
            return plan.descriptor(device.target(), device.limits()).getId().toString();
        } catch (IllegalArgumentException e) {
            return "none: the plan exceeds a limit";
        }
    }

    private JsonObject json(KernelPlan plan, PlanReport report, Optional<OpenClDevice> chosen) {
        JsonArray caches = new JsonArray();
        for (CacheReport cache : report.caches()) {
            JsonArray block = new JsonArray();
            cache.block().forEach(block::add);
            caches.add(JsonOutput.object(
                    "array",
                    cache.array(),
                    "level",
                    cache.level(),
                    "block",
                    block,
                    "elements",
                    cache.elements(),
                    "memory",
                    cache.location(),
                    "elided",
                    cache.isElided(),
                    "elidedInTails",
                    cache.isElidedInTails(),
                    "bytes",
                    cache.bytes(),
                    "bufferBytes",
                    cache.bufferBytes()));
        }
        JsonObject json = JsonOutput.object(
                "kernel",
                report.kernel(),
                "launch",
                report.geometry(),
                "groupItems",
                report.groupItems(),
                "localBytes",
                report.localBytes(),
                "privateBytes",
                report.privateBytes(),
                "caches",
                caches);
        if (chosen.isPresent()) {
            DeviceLimits limits = chosen.get().limits();
            json.add(
                    "device",
                    JsonOutput.object(
                            "name",
                            chosen.get().name(),
                            "localBytes",
                            limits.localBytes(),
                            "groupItems",
                            limits.groupItems(),
                            "residentGroups",
                            report.residentGroups(limits)));
            json.addProperty("id", id(plan, chosen.get()));
        }
        if (emit) {
            json.addProperty("source", plan.source());
        }
        return json;
    }
}
