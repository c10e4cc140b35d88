package dev.granary.cli.option;

import dev.granary.cache.Backend;
import dev.granary.cli.device.HostDevice;
import dev.granary.gpu.opencl.OpenClDevice;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The options that select devices: a backend, and a device in it. */
public final class DeviceOption {
    private static final String AUTO = "auto";

    @Option(
            names = "--backend",
            paramLabel = "BACKEND",
            description = "opencl, level-zero, or auto: OpenCL or, if it has no such device, Level"
                    + " Zero (default: auto)")
    private @Nullable String backend;

    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = "a part of the device's or platform's name, or its number in granary"
                    + " devices; default: the first device")
    private @Nullable String name;

    /** Returns the arguments that select the same devices in another process. */
    public List<String> arguments() {
        List<String> arguments = new ArrayList<>();
        if (backend != null) {
            arguments.addAll(List.of("--backend", backend));
        }
        if (name != null) {
            arguments.addAll(List.of("--device", name));
        }
        return arguments;
    }

    /**
     * Returns the selection.
     *
     * @throws UsageException if there is no such backend
     */
    public DeviceSelection selection() throws UsageException {
        return new DeviceSelection(backend(), name == null ? "" : name);
    }

    private Optional<Backend> backend() throws UsageException {
        if (backend == null || backend.equals(AUTO)) {
            return Optional.empty();
        }
        Optional<Backend> known = Backend.ofPath(backend);
        if (known.isEmpty()) {
            throw new UsageException(
                    "--backend must be opencl, level-zero or auto, not " + backend);
        }
        return known;
    }

    /** Returns the selected device, as {@link DeviceSelection#one} does. */
    public HostDevice device() throws CommandFailedException, UsageException {
        return selection().one();
    }

    /**
     * Returns the selected device of OpenCL.
     *
     * @throws UsageException if another backend is selected
     */
    public OpenClDevice openClDevice() throws CommandFailedException, UsageException {
        DeviceSelection chosen = selection();
        if (chosen.backend().orElse(Backend.OPENCL) != Backend.OPENCL) {
            throw new UsageException("this command supports devices of OpenCL only");
        }
        HostDevice found = new DeviceSelection(Optional.of(Backend.OPENCL), chosen.device()).one();
        if (found instanceof HostDevice.OfOpenCl(OpenClDevice device)) {
            return device;
        }
        throw new IllegalStateException("not of OpenCL: " + found);
    }
}
