package dev.granary.cli.option;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.gpu.Device;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A selection of devices of this machine.
 *
 * @param backend the backend; if empty, OpenCL or, if it has no such device, Level Zero
 * @param device the number of a device in its backend, or a part of its name or platform; empty for
 *     any device
 */
public record DeviceSelection(Optional<Backend> backend, String device) {
    /** Any device. */
    public static final DeviceSelection ANY = new DeviceSelection(Optional.empty(), "");

    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,9}");

    /**
     * Returns the selected device, by default the first one.
     *
     * @throws ConfigException if no device matches, or several of different targets do
     */
    public Device one() throws ConfigException {
        List<HostDevices> present = present();
        List<Device> matches = firstMatches(present);
        if (!device.isEmpty() && matches.stream().map(Device::target).distinct().count() > 1) {
            throw new ConfigException("several device names contain '" + device
                    + "'; give a longer part or the number, and --backend if needed: "
                    + lines(present));
        }
        return matches.getFirst();
    }

    /** Returns the selected devices, by default all of the backend, or of all backends. */
    public List<Device> all() throws ConfigException {
        List<HostDevices> present = present();
        return device.isEmpty()
                ? present.stream().flatMap(found -> found.devices().stream()).toList()
                : firstMatches(present);
    }

    /** Returns a selection of one device for each device of the backend, or of all backends. */
    List<DeviceSelection> each() {
        return present().stream()
                .flatMap(found -> IntStream.range(0, found.devices().size())
                        .mapToObj(number -> new DeviceSelection(
                                Optional.of(found.backend()), String.valueOf(number))))
                .toList();
    }

    public OpenClDevice oneOfOpenCl() throws ConfigException {
        if (!backend.orElse(Backend.OPENCL).equals(Backend.OPENCL)) {
            throw new ConfigException("this command supports devices of OpenCL only");
        }
        return (OpenClDevice) new DeviceSelection(Optional.of(Backend.OPENCL), device).one();
    }

    /** Returns the matches in the first backend that has some. */
    private List<Device> firstMatches(List<HostDevices> present) throws ConfigException {
        for (HostDevices found : present) {
            List<Device> matches = matches(found.devices());
            if (!matches.isEmpty()) {
                return matches;
            }
            if (isNumber()) {
                break; // numbers are those of one backend
            }
        }
        throw new ConfigException((isNumber()
                        ? "there is no device " + device
                        : "no device name contains '" + device + "'")
                + "; the devices are: " + lines(present));
    }

    private boolean isNumber() {
        return NUMBER.matcher(device).matches();
    }

    private List<Device> matches(List<Device> devices) {
        if (isNumber()) {
            int number = Integer.parseInt(device);
            return number < devices.size() ? List.of(devices.get(number)) : List.of();
        }
        String wanted = device.toLowerCase(Locale.ROOT);
        return devices.stream()
                .filter(each -> each.toString().toLowerCase(Locale.ROOT).contains(wanted))
                .toList();
    }

    private List<HostDevices> present() {
        List<HostDevices> found = new ArrayList<>();
        for (Backend each : backend.map(List::of).orElse(Backend.OWN)) {
            found.add(HostDevices.of(each));
        }
        List<HostDevices> present =
                found.stream().filter(each -> !each.devices().isEmpty()).toList();
        if (present.isEmpty()) {
            throw new CommandFailedException(String.join(
                    "; ", found.stream().map(DeviceSelection::advice).toList()));
        }
        return present;
    }

    private static String advice(HostDevices none) {
        return none.backend().equals(Backend.OPENCL)
                ? none.missing()
                        .map(cause -> "no OpenCL was found: " + cause
                                + "; install the loader and the driver of the device, on"
                                + " Debian: apt-get install ocl-icd-libopencl1"
                                + " pocl-opencl-icd (for the CPU)")
                        .orElse("the OpenCL loader found no device; install the driver of the"
                                + " device, on Debian for the CPU: apt-get install"
                                + " pocl-opencl-icd")
                : none.missing()
                        .map(cause -> "no Level Zero was found: " + cause)
                        .orElse("the Level Zero loader found no device");
    }

    private static String lines(List<HostDevices> present) {
        return present.stream()
                .flatMap(found -> IntStream.range(0, found.devices().size())
                        .mapToObj(number -> found.backend().path() + " " + number + " "
                                + found.devices().get(number)))
                .collect(Collectors.joining(", "));
    }

    /**
     * The devices of this machine through one backend.
     *
     * @param devices the devices in the order of the loader; the position of each is its number
     * @param missing the reason why the backend cannot be used, with the packages to install; empty
     *     if it can, even without a device
     */
    public record HostDevices(Backend backend, List<Device> devices, Optional<String> missing) {
        /**
         * Finds the devices of a backend. Those of Level Zero read the entries of the same devices
         * of OpenCL.
         */
        public static HostDevices of(Backend backend) {
            return backend.equals(Backend.OPENCL)
                    ? switch (OpenCl.probe()) {
                        case OpenCl.Probe.Found(List<OpenClDevice> found) ->
                            new HostDevices(backend, List.copyOf(found), Optional.empty());
                        case OpenCl.Probe.Missing(String cause) -> missing(backend, cause);
                    }
                    : switch (LevelZero.probe()) {
                        case LevelZero.Probe.Found(List<LevelZeroDevice> found) -> {
                            List<Target> openCl = found.isEmpty() // OpenCL need not be loaded
                                    ? List.of()
                                    : of(Backend.OPENCL).devices().stream()
                                            .map(Device::target)
                                            .toList();
                            yield new HostDevices(
                                    backend,
                                    found.stream()
                                            .<Device>map(device -> device.reading(openCl))
                                            .toList(),
                                    Optional.empty());
                        }
                        case LevelZero.Probe.Missing(String cause) -> missing(backend, cause);
                    };
        }

        private static HostDevices missing(Backend backend, String cause) {
            return new HostDevices(backend, List.of(), Optional.of(cause));
        }
    }
}
