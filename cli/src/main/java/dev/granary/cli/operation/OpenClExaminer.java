package dev.granary.cli.operation;

import dev.granary.cache.CheckResult;
import dev.granary.coordinator.admin.Doctor.Check;
import dev.granary.gpu.opencl.OpenCl;

import java.util.List;

/** Examiner of the OpenCL loader and of its devices, for {@code doctor}. */
final class OpenClExaminer {
    private static final String SUBJECT = "opencl";

    private OpenClExaminer() {}

    static List<Check> examine() {
        return switch (OpenCl.probe()) {
            case OpenCl.Probe.Missing missing ->
                List.of(check(new CheckResult.Problem(
                        missing.cause(),
                        "install it and the driver of the device, on Debian: apt-get install"
                                + " ocl-icd-libopencl1 pocl-opencl-icd (for the CPU)")));
            case OpenCl.Probe.Found found
            when found.devices().isEmpty() ->
                List.of(check(new CheckResult.Problem(
                        "the loader reports no device",
                        "install the driver of the device, on Debian for the CPU: apt-get install"
                                + " pocl-opencl-icd")));
            case OpenCl.Probe.Found found ->
                found.devices().stream()
                        .map(device -> check(new CheckResult.Sound(
                                device + ", target " + device.target().path())))
                        .toList();
        };
    }

    private static Check check(CheckResult result) {
        return new Check(SUBJECT, result);
    }
}
