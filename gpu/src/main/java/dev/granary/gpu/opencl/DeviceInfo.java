package dev.granary.gpu.opencl;

import dev.granary.cache.Target;

import org.lwjgl.opencl.CL10;

import java.util.function.Supplier;

/**
 * The properties that a driver reports of itself and of a device; {@link Target#UNKNOWN} if a query
 * fails.
 *
 * @param platformName {@code CL_PLATFORM_NAME}
 * @param platformVersion {@code CL_PLATFORM_VERSION}
 * @param deviceVendor {@code CL_DEVICE_VENDOR}
 * @param deviceName {@code CL_DEVICE_NAME}
 * @param deviceVersion {@code CL_DEVICE_VERSION}
 * @param driverVersion {@code CL_DRIVER_VERSION}
 * @param intelDeviceId {@code CL_DEVICE_ID_INTEL}, or unknown
 * @param nvidiaCapability compute capability such as {@code 9.0}, or unknown
 */
record DeviceInfo(
        String platformName,
        String platformVersion,
        String deviceVendor,
        String deviceName,
        String deviceVersion,
        String driverVersion,
        String intelDeviceId,
        String nvidiaCapability) {
    private static final int CL_DEVICE_ID_INTEL = 0x4251; // cl_intel_device_attribute_query
    // cl_nv_device_attribute_query
    private static final int CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV = 0x4000;
    private static final int CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV = 0x4001;

    static DeviceInfo query(ClBinding binding, long platform, long device) {
        String extensions =
                queryOrUnknown(() -> binding.deviceText(device, CL10.CL_DEVICE_EXTENSIONS));
        return new DeviceInfo(
                queryOrUnknown(() -> binding.platformText(platform, CL10.CL_PLATFORM_NAME)),
                queryOrUnknown(() -> binding.platformText(platform, CL10.CL_PLATFORM_VERSION)),
                queryOrUnknown(() -> binding.deviceText(device, CL10.CL_DEVICE_VENDOR)),
                queryOrUnknown(() -> binding.deviceText(device, CL10.CL_DEVICE_NAME)),
                queryOrUnknown(() -> binding.deviceText(device, CL10.CL_DEVICE_VERSION)),
                queryOrUnknown(() -> binding.deviceText(device, CL10.CL_DRIVER_VERSION)),
                extensions.contains("cl_intel_device_attribute_query")
                        ? queryOrUnknown(() -> "0x"
                                + Integer.toHexString(
                                        binding.deviceInt(device, CL_DEVICE_ID_INTEL)))
                        : Target.UNKNOWN,
                extensions.contains("cl_nv_device_attribute_query")
                        ? queryOrUnknown(() -> binding.deviceInt(
                                        device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV)
                                + "."
                                + binding.deviceInt(device, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV))
                        : Target.UNKNOWN);
    }

    private static String queryOrUnknown(Supplier<String> query) {
        try {
            String text = query.get();
            return text.isBlank() ? Target.UNKNOWN : text;
        } catch (OpenClException e) {
            // a failed query gives a stable target that differs from the regular one
            return Target.UNKNOWN;
        }
    }
}
