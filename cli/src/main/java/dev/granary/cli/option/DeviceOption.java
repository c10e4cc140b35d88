package dev.granary.cli.option;

import dev.granary.gpu.Device;
import dev.granary.gpu.opencl.OpenClDevice;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;

/** The options that select devices: a backend, and a device in it. */
public final class DeviceOption {
    @Mixin
    private BackendOption backend = new BackendOption();

    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = "a part of the device's or platform's name, or its number in granary"
                    + " devices; default: the first device")
    private @Nullable String name;

    /** Returns the arguments that select the same devices in another process. */
    public List<String> arguments() {
        List<String> arguments = new ArrayList<>(backend.arguments());
        if (name != null) {
            arguments.addAll(List.of("--device", name));
        }
        return arguments;
    }

    /** Returns true if an option was given. */
    public boolean isGiven() {
        return !arguments().isEmpty();
    }

    /**
     * Returns the selection.
     *
     * @throws UsageException if there is no such backend
     */
    public DeviceSelection selection() throws UsageException {
        return new DeviceSelection(backend.backend(), name == null ? "" : name);
    }

    /** Returns the selected device, as {@link DeviceSelection#one} does. */
    public Device device() throws CommandFailedException, UsageException {
        return selection().one();
    }

    /** Returns the selected device, as {@link DeviceSelection#oneOfOpenCl} does. */
    public OpenClDevice openClDevice() throws CommandFailedException, UsageException {
        return selection().oneOfOpenCl();
    }
}
