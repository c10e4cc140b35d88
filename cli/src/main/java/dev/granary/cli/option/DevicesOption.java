package dev.granary.cli.option;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;

import picocli.CommandLine.Option;

import java.util.List;

/** The option that selects several OpenCL devices. */
public final class DevicesOption {
    private static final String ALL = "all";

    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = "a part of the device's or platform's name, or all; may be given several"
                    + " times; default: the first device")
    private List<String> names = List.of();

    /** Returns true if devices were selected. */
    public boolean isGiven() {
        return !names.isEmpty();
    }

    /**
     * Returns a name for {@link DeviceOption#find} for each selected device; the empty one for the
     * first device if none was selected.
     *
     * @throws CommandFailedException if all were selected, and there is none
     */
    public List<String> names() throws CommandFailedException {
        if (names.isEmpty()) {
            return List.of("");
        }
        if (!names.contains(ALL)) {
            return names;
        }
        DeviceOption.find(""); // throws if there is no device
        return OpenCl.devices().stream().map(OpenClDevice::toString).distinct().toList();
    }
}
