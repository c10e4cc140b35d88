package dev.granary.cli.device;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.opencl.OpenCl;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The devices of this machine through one backend.
 *
 * @param backend the backend
 * @param devices the devices in the order of the loader; the position of each is its number
 * @param missing the reason why the backend cannot be used, with the packages to install; empty if
 *     it can, even without a device
 */
public record HostDevices(Backend backend, List<HostDevice> devices, Optional<String> missing) {
    /** Copies the list. */
    public HostDevices {
        devices = List.copyOf(devices);
    }

    /**
     * Finds the devices of a backend. Those of Level Zero read the entries of the same devices of
     * OpenCL.
     */
    public static HostDevices of(Backend backend) {
        return switch (backend) {
            case OPENCL -> ofOpenCl();
            case LEVEL_ZERO -> ofLevelZero();
        };
    }

    private static HostDevices ofOpenCl() {
        return switch (OpenCl.probe()) {
            case OpenCl.Probe.Found found ->
                new HostDevices(
                        Backend.OPENCL,
                        found.devices().stream()
                                .<HostDevice>map(HostDevice.OfOpenCl::new)
                                .toList(),
                        Optional.empty());
            case OpenCl.Probe.Missing absent ->
                new HostDevices(Backend.OPENCL, List.of(), Optional.of(absent.cause()));
        };
    }

    private static HostDevices ofLevelZero() {
        return switch (LevelZero.probe()) {
            case LevelZero.Probe.Found found ->
                new HostDevices(
                        Backend.LEVEL_ZERO, withReadableTargets(found.devices()), Optional.empty());
            case LevelZero.Probe.Missing absent ->
                new HostDevices(Backend.LEVEL_ZERO, List.of(), Optional.of(absent.cause()));
        };
    }

    private static List<HostDevice> withReadableTargets(List<LevelZeroDevice> devices) {
        if (devices.isEmpty()) {
            return List.of(); // OpenCL need not be loaded
        }
        List<Target> openCl =
                ofOpenCl().devices().stream().map(HostDevice::target).toList();
        return devices.stream()
                .<HostDevice>map(device -> new HostDevice.OfLevelZero(device.reading(openCl)))
                .toList();
    }

    /** Returns a line for each device, such as {@code level-zero 0 Intel(R) Graphics (...)}. */
    public List<String> lines() {
        return IntStream.range(0, devices.size())
                .mapToObj(number -> backend.path() + " " + number + " "
                        + devices.get(number).description())
                .toList();
    }
}
