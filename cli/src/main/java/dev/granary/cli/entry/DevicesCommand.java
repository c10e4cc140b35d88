package dev.granary.cli.entry;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.option.DeviceSelection.HostDevices;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.Report;
import dev.granary.gpu.Device;

import picocli.CommandLine.Command;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** {@code granary devices}: lists the devices of this machine with their targets. */
@Command(
        description = "List the devices of OpenCL and Level Zero, with their numbers and the"
                + " targets of their entries.")
public final class DevicesCommand extends OutputCommand {
    @Override
    protected boolean run(Report report) {
        add(report);
        return true;
    }

    static void add(Report report) {
        List<HostDevices> backends = Backend.OWN.stream().map(HostDevices::of).toList();
        for (HostDevices backend : backends) {
            for (int number = 0; number < backend.devices().size(); number++) {
                add(number, backend.devices().get(number), report.part("devices"));
            }
        }
        Map<String, String> missing = new LinkedHashMap<>();
        for (HostDevices backend : backends) {
            backend.missing().ifPresent(cause -> {
                missing.put(backend.backend().path(), cause);
                report.line("no " + backend.backend().path() + ": " + cause);
            });
        }
        report.data("missing", missing);
        if (backends.stream().allMatch(backend -> backend.devices().isEmpty())) {
            report.line("no device");
        }
    }

    private static void add(int number, Device device, Report report) {
        Target target = device.target();
        List<String> readable =
                device.readableTargets().stream().map(Target::path).toList();
        report.data("backend", target.backend().path())
                .data("number", number)
                .data("platform", device.platformName())
                .data("name", device.name())
                .data("driver", target.driver())
                .line(target.backend().path() + " " + number + ": " + device.name() + " ("
                        + device.platformName() + ")")
                .data("target", target.path())
                .line("  target   " + target.path()); // whole, to be copied
        report.data(
                "reads",
                Stream.concat(Stream.of(target.path()), readable.stream()).toList());
        readable.forEach(path -> report.line("  reads    " + path));
        if (device.intermediateLanguages().isEmpty()) {
            report.data("intermediateLanguages", List.of());
        } else {
            report.field("  takes:intermediateLanguages", device.intermediateLanguages());
        }
        report.data("subDevices", device.maxSubDevices());
    }
}
