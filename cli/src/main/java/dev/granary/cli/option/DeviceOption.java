package dev.granary.cli.option;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The option that selects an OpenCL device. */
public final class DeviceOption {
    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = "a part of the device's or platform's name; default: the first device")
    private @Nullable String name;

    /** Returns the arguments that select the same device in another process. */
    public List<String> arguments() {
        return name == null ? List.of() : List.of("--device", name);
    }

    /** Returns the part of a name that selects the device; empty for the first device. */
    public String name() {
        return name == null ? "" : name;
    }

    public OpenClDevice device() throws CommandFailedException {
        return find(name());
    }

    /**
     * Returns the first device whose name, or platform's name, contains {@code name}.
     *
     * @throws CommandFailedException if there is none
     */
    public static OpenClDevice find(String name) throws CommandFailedException {
        List<OpenClDevice> devices =
                switch (OpenCl.probe()) {
                    case OpenCl.Probe.Found found -> found.devices();
                    case OpenCl.Probe.Missing missing ->
                        throw new CommandFailedException("no OpenCL was found: " + missing.cause()
                                + "; install the loader and the driver of the device, on"
                                + " Debian: apt-get install ocl-icd-libopencl1"
                                + " pocl-opencl-icd (for the CPU)");
                };
        if (devices.isEmpty()) {
            throw new CommandFailedException(
                    "the OpenCL loader found no device; install the driver of the device, on"
                            + " Debian for the CPU: apt-get install pocl-opencl-icd");
        }
        String wanted = name.toLowerCase(Locale.ROOT);
        // a whole name goes before a part of another one
        return Stream.<Predicate<String>>of(wanted::equals, text -> text.contains(wanted))
                .flatMap(isWanted -> devices.stream()
                        .filter(device ->
                                isWanted.test(device.toString().toLowerCase(Locale.ROOT))))
                .findFirst()
                .orElseThrow(() -> new CommandFailedException(
                        "no device name contains '" + name + "'; the devices are: "
                                + devices.stream()
                                        .map(OpenClDevice::toString)
                                        .collect(Collectors.joining(", "))));
    }
}
