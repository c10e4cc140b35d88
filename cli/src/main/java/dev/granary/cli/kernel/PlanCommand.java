package dev.granary.cli.kernel;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.PlanReport;
import dev.granary.plans.PlanReport.CacheReport;
import dev.granary.plans.file.PlanFile;
import dev.granary.plans.picture.PlanPicture;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Collectors;

/** {@code granary plan}: shows the kernel of a plan, its caches, and the device's limits. */
@Command(
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
    protected boolean run(Report result) throws TomlException, ConfigException {
        KernelPlan plan = PlanFile.read(file);
        PlanReport report = plan.report();
        if (picture != null) {
            write(picture, PlanPicture.svg(plan).getBytes(UTF_8), "The picture " + picture);
        }
        Optional<OpenClDevice> chosen = device.ifAny(DeviceSelection::oneOfOpenCl);
        if (emit) {
            result.data("source", plan.source());
            plan.source().lines().forEach(result::line);
        }
        add(result, plan, report);
        if (chosen.isEmpty()) {
            result.field("device", "none; the plan was not compared with limits");
            return true;
        }
        add(result, plan, report, chosen.get());
        try {
            report.check(chosen.get().limits());
            return true;
        } catch (IllegalArgumentException e) {
            result.problem(String.valueOf(e.getMessage()));
            return false;
        }
    }

    private static void add(Report result, KernelPlan plan, PlanReport report) {
        result.table("caches", report.caches())
                .column("cache of:array", CacheReport::array)
                .column("level", CacheReport::level)
                .column("<block", PlanCommand::block)
                .column("elements", CacheReport::elements)
                .column("<memory", PlanCommand::memory)
                .column("-elided", CacheReport::isElided)
                .column("-elided in tails", CacheReport::isElidedInTails)
                .column("bytes", CacheReport::bytes)
                .column("buffer:bufferBytes", CacheReport::bufferBytes);
        long elided = report.caches().stream().filter(CacheReport::isElided).count();
        long tails =
                report.caches().stream().filter(CacheReport::isElidedInTails).count();
        result.data("kernel", report.kernel())
                .data("groupItems", report.groupItems())
                .field("launch", report.geometry())
                .field(
                        "local:localBytes",
                        report.localBytes(),
                        Units.count(report.localBytes()) + " bytes for a work-group")
                .field(
                        "private:privateBytes",
                        report.privateBytes(),
                        Units.count(report.privateBytes()) + " bytes for a work-item")
                .field(
                        "elided",
                        elided,
                        Units.plural(elided, "copy")
                                + (tails == 0 ? "" : "; in incomplete tiles also " + tails));
    }

    private static Report.Shown block(CacheReport cache) {
        return new Report.Shown(
                cache.block(),
                cache.block().stream().map(String::valueOf).collect(Collectors.joining(" x ")));
    }

    private static Report.Shown memory(CacheReport cache) {
        return new Report.Shown(
                cache.location(), cache.isElided() ? "elided" : cache.location().toString());
    }

    private static void add(
            Report result, KernelPlan plan, PlanReport report, OpenClDevice device) {
        DeviceLimits limits = device.limits();
        result.field("device", device.name())
                .field(
                        "limits:deviceLocalBytes",
                        limits.localBytes(),
                        Units.count(limits.localBytes()) + " bytes of local memory, "
                                + Units.count(limits.groupItems())
                                + " work-items in a work-group")
                .data("deviceGroupItems", limits.groupItems())
                .field(
                        "resident:residentGroups",
                        report.residentGroups(limits),
                        Units.count(report.residentGroups(limits))
                                + " work-groups at once, by these limits")
                .field("id", id(plan, device));
    }

    /** Returns the id of the kernel on a device; a line if the device cannot run it. */
    private static String id(KernelPlan plan, OpenClDevice device) {
        try {
            return plan.descriptor(device.target(), device.limits()).getId().toString();
        } catch (IllegalArgumentException e) {
            return "none: the plan exceeds a limit";
        }
    }
}
