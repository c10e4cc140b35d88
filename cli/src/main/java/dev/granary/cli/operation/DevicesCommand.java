package dev.granary.cli.operation;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.command.OutputCommand;
import dev.granary.cli.output.JsonOutput;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;

import picocli.CommandLine.Command;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code granary devices}: lists the devices of this machine with their targets. */
@Command(
        name = "devices",
        mixinStandardHelpOptions = true,
        description =
                "List the devices of OpenCL and Level Zero, with the targets of their entries.")
public final class DevicesCommand extends OutputCommand {
    private final List<Listed> devices = new ArrayList<>();
    private final Map<String, String> missing = new LinkedHashMap<>();

    /**
     * A device.
     *
     * @param platform the platform of OpenCL, else the vendor
     * @param name the name that the driver reports
     * @param target the target of its entries
     * @param subDevices the number of parts that it has, or that OpenCL can split it into at most
     */
    private record Listed(String platform, String name, Target target, int subDevices) {
        private static Listed of(OpenClDevice device) {
            return new Listed(
                    device.platformName(), device.name(), device.target(), device.maxSubDevices());
        }

        private static Listed of(LevelZeroDevice device) {
            return new Listed(
                    device.target().vendor(),
                    device.name(),
                    device.target(),
                    device.subDevices().size());
        }

        private JsonObject json() {
            JsonArray reads = new JsonArray();
            reads.add(target.path()); // no engine reads entries of another target
            return JsonOutput.object(
                    "backend", target.backend().path(),
                    "platform", platform,
                    "name", name,
                    "driver", target.driver(),
                    "target", target.path(),
                    "reads", reads,
                    "subDevices", subDevices);
        }
    }

    @Override
    public Integer call() {
        switch (OpenCl.probe()) {
            case OpenCl.Probe.Found found -> found.devices().forEach(this::add);
            case OpenCl.Probe.Missing absent -> missing.put(Backend.OPENCL.path(), absent.cause());
        }
        switch (LevelZero.probe()) {
            case LevelZero.Probe.Found found -> found.devices().forEach(this::add);
            case LevelZero.Probe.Missing absent ->
                missing.put(Backend.LEVEL_ZERO.path(), absent.cause());
        }
        if (isJson()) {
            JsonArray all = new JsonArray();
            devices.forEach(device -> all.add(device.json()));
            JsonObject causes = new JsonObject();
            missing.forEach(causes::addProperty);
            JsonOutput.print(out(), JsonOutput.object("devices", all, "missing", causes));
            return 0;
        }
        for (Listed device : devices) {
            out().println(device.name() + " (" + device.platform() + ")");
            out().println("  " + device.target().path());
        }
        missing.forEach((backend, cause) -> out().println("no " + backend + ": " + cause));
        if (devices.isEmpty()) {
            out().println("no device");
        }
        out().flush();
        return 0;
    }

    private void add(OpenClDevice device) {
        devices.add(Listed.of(device));
    }

    private void add(LevelZeroDevice device) {
        devices.add(Listed.of(device));
    }
}
