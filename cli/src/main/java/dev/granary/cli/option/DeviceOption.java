package dev.granary.cli.option;

import dev.granary.cache.Backend;
import dev.granary.gpu.Device;
import dev.granary.gpu.opencl.OpenClDevice;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The options that select devices: a backend, and devices in it. */
public final class DeviceOption {
    private static final String ALL = "all";

    @Option(
            names = "--backend",
            paramLabel = "BACKEND",
            converter = Converters.OneBackend.class,
            description = "opencl, level-zero, or auto: OpenCL or, if it has no such device, Level"
                    + " Zero (default: auto)")
    private @Nullable Backend backend;

    @Option(
            names = "--device",
            paramLabel = "NAME",
            split = ",",
            description = "a part of the device's or platform's name, or its number in granary"
                    + " devices; for several devices names with commas, or all; default: the first"
                    + " device")
    private List<String> names = List.of();

    /** Returns true if devices or a backend were selected. */
    public boolean isGiven() {
        return !names.isEmpty() || backend != null;
    }

    /**
     * Returns the selection, by default of any device of the backend.
     *
     * @throws UsageException if several devices are named
     */
    public DeviceSelection selection() throws UsageException {
        if (names.size() > 1 || names.contains(ALL)) {
            throw new UsageException(
                    "this command takes one device, not --device " + String.join(",", names));
        }
        return selection(names.isEmpty() ? "" : names.getFirst());
    }

    private DeviceSelection selection(String name) {
        return new DeviceSelection(Optional.ofNullable(backend), name);
    }

    /**
     * Returns a selection of one device for each selected device, by default of the first.
     *
     * @throws CommandFailedException if all were selected, and there is none
     */
    public List<DeviceSelection> selections() throws CommandFailedException {
        List<DeviceSelection> selections = new ArrayList<>();
        for (String name : names.isEmpty() ? List.of("") : names) {
            if (name.equals(ALL)) {
                selections.addAll(selection("").each());
            } else {
                selections.add(selection(name));
            }
        }
        return selections;
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
