package dev.granary.gpu.levelzero.binding;

import java.util.OptionalInt;

/**
 * The properties that a driver reports of one device.
 *
 * @param driverVersion the version of the driver, with parts that it chooses
 * @param type {@code ze_device_type_t}
 * @param vendorId the PCI id of the vendor, such as {@code 0x8086}
 * @param deviceId the PCI id of the device
 * @param ipVersion the version of the device's architecture, if the driver reports it
 * @param computeUnits the number of execution units
 * @param name the name of the device
 */
public record ZeDeviceInfo(
        int driverVersion,
        int type,
        int vendorId,
        int deviceId,
        OptionalInt ipVersion,
        int computeUnits,
        String name) {
    private static final int TYPE_GPU = 1;
    private static final int TYPE_PROCESSOR = 2;

    /** Returns true if the device is a GPU. */
    public boolean isGpu() {
        return type == TYPE_GPU;
    }

    /** Returns true if the device is the processor of the host. */
    public boolean isProcessor() {
        return type == TYPE_PROCESSOR;
    }
}
