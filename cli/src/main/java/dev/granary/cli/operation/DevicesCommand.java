package dev.granary.cli.operation;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.command.OutputCommand;
import dev.granary.cli.option.HostDevices;
import dev.granary.cli.output.JsonOutput;
import dev.granary.gpu.Device;

import picocli.CommandLine.Command;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** {@code granary devices}: lists the devices of this machine with their targets. */
@Command(
        name = "devices",
        mixinStandardHelpOptions = true,
        description = "List the devices of OpenCL and Level Zero, with their numbers and the"
                + " targets of their entries.")
public final class DevicesCommand extends OutputCommand {
    @Override
    public Integer call() {
        List<HostDevices> backends =
                Arrays.stream(Backend.values()).map(HostDevices::of).toList();
        if (isJson()) {
            JsonOutput.print(out(), json(backends));
            return 0;
        }
        for (HostDevices backend : backends) {
            for (int number = 0; number < backend.devices().size(); number++) {
                Device device = backend.devices().get(number);
                out().println(backend.backend().path() + " " + number + ": " + device.name() + " ("
                        + device.platformName() + ")");
                out().println("  " + device.target().path());
                device.readableTargets()
                        .forEach(target -> out().println("  reads " + target.path()));
                if (!device.intermediateLanguages().isEmpty()) {
                    out().println("  takes " + String.join(" ", device.intermediateLanguages()));
                }
            }
        }
        for (HostDevices backend : backends) {
            backend.missing().ifPresent(cause -> out().println(
                            "no " + backend.backend().path() + ": " + cause));
        }
        if (backends.stream().allMatch(backend -> backend.devices().isEmpty())) {
            out().println("no device");
        }
        out().flush();
        return 0;
    }

    private static JsonObject json(List<HostDevices> backends) {
        JsonArray all = new JsonArray();
        JsonObject causes = new JsonObject();
        for (HostDevices backend : backends) {
            for (int number = 0; number < backend.devices().size(); number++) {
                all.add(json(number, backend.devices().get(number)));
            }
            backend.missing()
                    .ifPresent(cause -> causes.addProperty(backend.backend().path(), cause));
        }
        return JsonOutput.object("devices", all, "missing", causes);
    }

    private static JsonObject json(int number, Device device) {
        Target target = device.target();
        JsonArray reads = new JsonArray();
        Stream.concat(Stream.of(target), device.readableTargets().stream())
                .forEach(each -> reads.add(each.path()));
        return JsonOutput.object(
                "backend", target.backend().path(),
                "number", number,
                "platform", device.platformName(),
                "name", device.name(),
                "driver", target.driver(),
                "target", target.path(),
                "reads", reads,
                "intermediateLanguages", JsonOutput.strings(device.intermediateLanguages()),
                "subDevices", device.maxSubDevices());
    }
}
