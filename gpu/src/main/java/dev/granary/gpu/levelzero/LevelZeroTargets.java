package dev.granary.gpu.levelzero;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.binary.IntelDevice;
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

    private LevelZeroTargets() {}

    static Target targetOf(ZeDeviceInfo info) {
        boolean isIntel = info.vendorId() == INTEL;
        return new Target(
                Backend.LEVEL_ZERO,
                isIntel ? IntelDevice.VENDOR : "vendor " + hex(info.vendorId()),
                isIntel && info.isGpu()
                        ? new IntelDevice(info.deviceId(), info.ipVersion()).text()
                        : named(info),
                version(info.driverVersion()));
    }

    private static String named(ZeDeviceInfo info) {
        return (info.name().isBlank() ? Target.UNKNOWN : info.name()) + " id "
                + hex(info.deviceId())
                + (info.ipVersion().isPresent() ? " ip " + hex(info.ipVersion().getAsInt()) : "");
    }

    /** Returns major version, minor version and build, as drivers encode them in 32 bits. */
    private static String version(int version) {
        return (version >>> 24) + "." + ((version >>> 16) & 0xff) + "." + (version & 0xffff);
    }

    private static String hex(int number) {
        return "0x" + Integer.toHexString(number);
    }
}
