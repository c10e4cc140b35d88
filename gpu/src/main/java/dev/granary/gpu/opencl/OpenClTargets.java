package dev.granary.gpu.opencl;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.DriverTraits;
import java.util.Locale;

/**
 * Which of a driver's answers identify its binaries, driver by driver.
 *
 * <p>PoCL names Intel as the vendor of any CPU and leaves the compiler's version out of its driver version; Intel's device version names
 * no device; NVIDIA's code depends on the compute capability. A driver that is not in the table is identified by all of its answers: that
 * shares less than it could, and never wrongly.
 */
final class OpenClTargets {
    private OpenClTargets() {}

    static Target targetOf(DeviceInfo answers) {
        String platform = answers.platformName().toLowerCase(Locale.ROOT);
        if (platform.contains("portable computing language")) {
            return target(DriverTraits.POCL, withoutPreamble(answers.deviceVersion()), withoutPreamble(answers.platformVersion()));
        }
        if (platform.contains("nvidia")) {
            return target("nvidia", answers.deviceName() + " sm " + answers.nvidiaCapability(), answers.driverVersion());
        }
        if (platform.contains("intel") && !answers.intelDeviceId().equals(Target.UNKNOWN)) {
            return target("intel", answers.deviceName() + " id " + answers.intelDeviceId(), answers.driverVersion());
        }
        return target(answers.deviceVendor(), answers.deviceName() + " " + answers.deviceVersion(),
                answers.driverVersion() + " " + answers.platformName() + " " + answers.platformVersion());
    }

    /** PoCL's versions begin with {@code OpenCL 3.0 PoCL }, which follows from the rest and would fill the names that people read. */
    private static String withoutPreamble(String version) {
        return version.replaceFirst("^OpenCL [0-9.]+ PoCL (HSTR: )?", "").replaceAll("\\s+", " ");
    }

    private static Target target(String vendor, String device, String driver) {
        return new Target(Backend.OPENCL, vendor, device, driver);
    }
}
