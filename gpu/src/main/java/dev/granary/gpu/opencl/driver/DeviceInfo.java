package dev.granary.gpu.opencl.driver;

import dev.granary.cache.Target;

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
public record DeviceInfo(
        String platformName,
        String platformVersion,
        String deviceVendor,
        String deviceName,
        String deviceVersion,
        String driverVersion,
        String intelDeviceId,
        String nvidiaCapability) {}
