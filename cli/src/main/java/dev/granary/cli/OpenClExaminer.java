package dev.granary.cli;

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
                List.of(new Check.Problem(
                        SUBJECT,
                        missing.cause(),
                        "install it and the driver of the device, on Debian: apt-get install"
                                + " ocl-icd-libopencl1 pocl-opencl-icd (for the CPU)"));
            case OpenCl.Probe.Found found
            when found.devices().isEmpty() ->
                List.of(new Check.Problem(
                        SUBJECT,
                        "the loader reports no device",
                        "install the driver of the device, on Debian for the CPU: apt-get install"
                                + " pocl-opencl-icd"));
            case OpenCl.Probe.Found found ->
                found.devices().stream()
                        .<Check>map(device -> new Check.Sound(
                                SUBJECT, device + ", target " + device.target().path()))
                        .toList();
        };
    }
}
