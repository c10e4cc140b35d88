package dev.granary.cli.operation;

import dev.granary.cache.Backend;
import dev.granary.cache.CheckResult;
import dev.granary.cli.device.HostDevice;
import dev.granary.cli.device.HostDevices;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.UsageException;
import dev.granary.coordinator.admin.Doctor.Check;

import java.util.List;

/**
 * Examiner of the loaders and of the selected devices, for {@code doctor}. A missing backend is a
 * problem if it is selected, or if no other has a device.
 */
final class DeviceExaminer {
    private DeviceExaminer() {}

    static List<Check> examine(DeviceSelection selection) throws UsageException {
        try {
            return selection.all().stream()
                    .map(device -> check(
                            device.target().backend(), new CheckResult.Sound(finding(device))))
                    .toList();
        } catch (CommandFailedException e) {
            Backend backend = selection.backend().orElse(Backend.OPENCL);
            return List.of(check(backend, problem(HostDevices.of(backend))));
        }
    }

    private static String finding(HostDevice device) {
        StringBuilder finding = new StringBuilder(device.description())
                .append(", target ")
                .append(device.target().path());
        device.readableTargets()
                .forEach(target -> finding.append(", reads ").append(target.path()));
        return finding.toString();
    }

    private static CheckResult problem(HostDevices none) {
        return switch (none.backend()) {
            case OPENCL ->
                none.missing()
                        .map(cause -> new CheckResult.Problem(
                                cause,
                                "install it and the driver of the device, on Debian: apt-get"
                                        + " install ocl-icd-libopencl1 pocl-opencl-icd (for the"
                                        + " CPU)"))
                        .orElseGet(() -> new CheckResult.Problem(
                                "the loader reports no device",
                                "install the driver of the device, on Debian for the CPU: apt-get"
                                        + " install pocl-opencl-icd"));
            case LEVEL_ZERO ->
                new CheckResult.Problem(
                        none.missing().orElse("the loader reports no device"),
                        "install the loader and the driver of the device, or use --backend opencl");
        };
    }

    private static Check check(Backend backend, CheckResult result) {
        return new Check(backend.path(), result);
    }
}
