package dev.granary.cli.option;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;

/** The options that select several devices: a backend, and devices in it. */
public final class DevicesOption {
    private static final String ALL = "all";

    @Mixin
    private BackendOption backend = new BackendOption();

    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = "a part of the device's or platform's name, its number in granary"
                    + " devices, or all; may be given several times; default: the first device")
    private List<String> names = List.of();

    /** Returns true if devices or a backend were selected. */
    public boolean isGiven() {
        return !names.isEmpty() || !backend.arguments().isEmpty();
    }

    /**
     * Returns a selection of one device for each selected device, by default of the first.
     *
     * @throws CommandFailedException if all were selected, and there is none
     * @throws UsageException if there is no such backend
     */
    public List<DeviceSelection> selections() throws CommandFailedException, UsageException {
        List<DeviceSelection> selections = new ArrayList<>();
        for (String name : names.isEmpty() ? List.of("") : names) {
            if (name.equals(ALL)) {
                selections.addAll(new DeviceSelection(backend.backend(), "").each());
            } else {
                selections.add(new DeviceSelection(backend.backend(), name));
            }
        }
        return selections;
    }
}
