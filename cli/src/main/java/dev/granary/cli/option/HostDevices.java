package dev.granary.cli.option;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.Device;
import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;

import java.util.List;
import java.util.Optional;

/**
 * The devices of this machine through one backend.
 *
 * @param devices the devices in the order of the loader; the position of each is its number
 * @param missing the reason why the backend cannot be used, with the packages to install; empty if
 *     it can, even without a device
 */
public record HostDevices(Backend backend, List<Device> devices, Optional<String> missing) {
    /**
     * Finds the devices of a backend. Those of Level Zero read the entries of the same devices of
     * OpenCL.
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
