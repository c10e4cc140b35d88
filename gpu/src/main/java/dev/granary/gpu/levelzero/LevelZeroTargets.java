package dev.granary.gpu.levelzero;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.device.IntelDevice;
import dev.granary.gpu.levelzero.binding.ZeDeviceInfo;

/**
 * Factory of targets: selects the device properties that identify a driver's native binaries.
 *
 * <p>Code depends on the architecture of the device and on the compiler in the driver. The first is
 * its PCI id, with the version of its architecture if the driver reports that; the second is the
 * version of the driver. The unique ids of drivers and devices are not used: some differ on each
 * machine. The name of a GPU of Intel is not used either: its driver's versions differ in it.
 */
final class LevelZeroTargets {
    private static final int INTEL = 0x8086;

    /** The position of the build in the version of Intel's OpenCL driver: year, week, build. */
    private static final int BUILD_POSITION = 2;

    private LevelZeroTargets() {}

    static Target targetOf(ZeDeviceInfo info) {
        return new Target(
                Backend.LEVEL_ZERO,
                vendor(info),
                isIntelGpu(info)
                        ? new IntelDevice(info.deviceId(), info.ipVersion()).text()
                        : nameAndId(info)
                                + (info.ipVersion().isPresent()
                                        ? " ip " + hex(info.ipVersion().getAsInt())
                                        : ""),
                version(info.driverVersion()));
    }

    /**
     * Returns true if engines of the device with these properties read entries of a target of
     * another backend: it is of the same device and the same build of the driver. The two drivers
     * of a release have different versions with one build, such as 1.3.24595 and 22.43.24595.
     */
    static boolean reads(ZeDeviceInfo info, Target other) {
        return !other.backend().equals(Backend.LEVEL_ZERO)
                && Backend.LEVEL_ZERO.reads(other.backend())
                && other.vendor().equals(vendor(info))
                && isOfDevice(info, other)
                && build(other.driver()).equals(String.valueOf(build(info.driverVersion())));
    }

    /** Compares devices. Targets of OpenCL have no version of the architecture. */
    private static boolean isOfDevice(ZeDeviceInfo info, Target other) {
        return isIntelGpu(info)
                ? IntelDevice.of(other)
                        .filter(device -> device.pciId() == info.deviceId())
                        .isPresent()
                : other.device().equals(nameAndId(info));
    }

    private static boolean isIntelGpu(ZeDeviceInfo info) {
        return info.vendorId() == INTEL && info.isGpu();
    }

    private static String vendor(ZeDeviceInfo info) {
        return info.vendorId() == INTEL ? IntelDevice.VENDOR : "vendor " + hex(info.vendorId());
    }

    private static String nameAndId(ZeDeviceInfo info) {
        return (info.name().isBlank() ? Target.UNKNOWN : info.name()) + " id "
                + hex(info.deviceId());
    }

    /** Returns the build in a version of OpenCL's driver; empty text if it has none. */
    private static String build(String version) {
        String[] parts = version.split("\\.", -1);
        return parts.length > BUILD_POSITION ? parts[BUILD_POSITION] : "";
    }

    /** Returns major version, minor version and build, as drivers encode them in 32 bits. */
    private static String version(int version) {
        return (version >>> 24) + "." + ((version >>> 16) & 0xff) + "." + build(version);
    }

    private static int build(int version) {
        return version & 0xffff;
    }

    private static String hex(int number) {
        return "0x" + Integer.toHexString(number);
    }
}
