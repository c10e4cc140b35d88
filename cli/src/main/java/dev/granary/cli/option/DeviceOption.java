package dev.granary.cli.option;

import dev.granary.cache.Backend;
import dev.granary.coordinator.config.ConfigException;

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

    public boolean isGiven() {
        return !names.isEmpty() || backend != null;
    }

    /** Returns the selection, by default of any device of the backend. */
    public DeviceSelection selection() throws ConfigException {
        if (names.size() > 1 || names.contains(ALL)) {
            throw new ConfigException(
                    "this command takes one device, not --device " + String.join(",", names));
        }
        return selection(names.isEmpty() ? "" : names.getFirst());
    }

    private DeviceSelection selection(String name) {
        return new DeviceSelection(Optional.ofNullable(backend), name);
    }

    /** Returns a selection of one device for each selected device, by default of the first. */
    public List<DeviceSelection> selections() {
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

    /** Finder of a device. */
    @FunctionalInterface
    public interface Finder<D> {
        D in(DeviceSelection selection) throws ConfigException;
    }

    /** Returns the device that is found; empty if none is selected and this machine has none. */
    public <D> Optional<D> ifAny(Finder<D> finder) throws ConfigException {
        try {
            return Optional.of(finder.in(selection()));
        } catch (CommandFailedException e) {
            if (isGiven()) {
                throw e;
            }
            return Optional.empty();
        }
    }
}
