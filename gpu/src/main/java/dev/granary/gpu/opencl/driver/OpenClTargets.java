package dev.granary.gpu.opencl.driver;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.device.DriverTraits;
import dev.granary.gpu.device.IntelDevice;

import java.util.Locale;
import java.util.Optional;

/**
 * Factory of targets: selects the device properties that identify a driver's binaries.
 *
 * <p>PoCL reports Intel as the vendor of any CPU, and the compiler's version is not in its driver
 * version. Intel's device version names no device. An Intel GPU is identified by its PCI id, since
 * versions of its driver give it different names. NVIDIA's code depends on the compute capability.
 * Other drivers are identified by all properties, so that binaries may be shared too seldom, but
 * never wrongly.
 */
public final class OpenClTargets {
    private OpenClTargets() {}

    /** Returns the target of binaries for the device with these properties. */
    public static Target targetOf(DeviceInfo info) {
        String platform = info.platformName().toLowerCase(Locale.ROOT);
        if (platform.contains("portable computing language")) {
            return target(
                    DriverTraits.POCL,
                    withoutPreamble(info.deviceVersion()),
                    withoutPreamble(info.platformVersion()));
        }
        if (platform.contains("nvidia")) {
            return target(
                    "nvidia",
                    info.deviceName() + " sm " + info.nvidiaCapability(),
                    info.driverVersion());
        }
        if (platform.contains("intel") && !info.intelDeviceId().equals(Target.UNKNOWN)) {
            // the platform of processors has ids as well, which do not tell processors apart
            Optional<IntelDevice> gpu = platform.contains("graphics")
                    ? IntelDevice.ofPciText(info.intelDeviceId())
                    : Optional.empty();
            return target(
                    IntelDevice.VENDOR,
                    gpu.map(IntelDevice::text)
                            .orElseGet(() -> info.deviceName() + " id " + info.intelDeviceId()),
                    info.driverVersion());
        }
        return target(
                info.deviceVendor(),
                info.deviceName() + " " + info.deviceVersion(),
                info.driverVersion() + " " + info.platformName() + " " + info.platformVersion());
    }

    /**
     * Removes the prefix {@code OpenCL 3.0 PoCL } of PoCL's versions: it is redundant and makes
     * names long.
     */
    private static String withoutPreamble(String version) {
        return version.replaceFirst("^OpenCL [0-9.]+ PoCL (HSTR: )?", "").replaceAll("\\s+", " ");
    }

    private static Target target(String vendor, String device, String driver) {
        return new Target(Backend.OPENCL, vendor, device, driver);
    }
}
