package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.OptionalInt;

/** The calls about drivers, devices, sub-devices and their properties. */
public final class DriverCalls {
    private static final String IP_VERSION_EXTENSION = "ZE_extension_device_ip_version";

    private static final int DRIVER_PROPERTIES = 0x1;
    private static final int DEVICE_PROPERTIES = 0x3;
    private static final int MODULE_PROPERTIES = 0x5;
    private static final int COMMAND_QUEUE_GROUP_PROPERTIES = 0x6;
    private static final int DEVICE_IP_VERSION = 0x1000f;

    private static final long EXTENSION_BYTES = 260;
    private static final long QUEUE_GROUP_BYTES = 40;
    private static final int COMPUTE = 1; // a flag of a group of queues

    private final MethodHandle init;
    private final MethodHandle driverGet;
    private final MethodHandle driverProperties;
    private final MethodHandle driverExtensions;
    private final MethodHandle deviceGet;
    private final MethodHandle subDevices;
    private final MethodHandle deviceProperties;
    private final MethodHandle moduleProperties;
    private final MethodHandle queueGroups;

    /** Finds the functions in the loader. */
    public DriverCalls(ZeLibrary library) {
        init = library.function("zeInit", JAVA_INT);
        driverGet = library.function("zeDriverGet", POINTER, POINTER);
        driverProperties = library.function("zeDriverGetProperties", POINTER, POINTER);
        driverExtensions =
                library.function("zeDriverGetExtensionProperties", POINTER, POINTER, POINTER);
        deviceGet = library.function("zeDeviceGet", POINTER, POINTER, POINTER);
        subDevices = library.function("zeDeviceGetSubDevices", POINTER, POINTER, POINTER);
        deviceProperties = library.function("zeDeviceGetProperties", POINTER, POINTER);
        moduleProperties = library.function("zeDeviceGetModuleProperties", POINTER, POINTER);
        queueGroups = library.function(
                "zeDeviceGetCommandQueueGroupProperties", POINTER, POINTER, POINTER);
    }

    /** Initializes the drivers and returns the status; 0 is success. */
    public int init() {
        return ZeLibrary.status("zeInit", () -> (int) init.invokeExact(0));
    }

    /** Returns the drivers, in the order of the loader. */
    public List<Long> drivers() {
        return ZeLibrary.list(
                "zeDriverGet", (count, list) -> (int) driverGet.invokeExact(count, list));
    }

    /** Returns the devices of a driver. */
    public List<Long> devices(long driver) {
        return ZeLibrary.list(
                "zeDeviceGet", (count, list) -> (int) deviceGet.invokeExact(driver, count, list));
    }

    /** Returns the sub-devices of a device; none if it has no parts. */
    public List<Long> subDevices(long device) {
        return ZeLibrary.list("zeDeviceGetSubDevices", (count, list) ->
                (int) subDevices.invokeExact(device, count, list));
    }

    /** Returns the properties of a device of that driver. */
    public ZeDeviceInfo info(long driver, long device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment of = arena.allocate(40, 8);
            of.set(JAVA_INT, 0, DRIVER_PROPERTIES);
            ZeLibrary.check("zeDriverGetProperties", () ->
                    (int) driverProperties.invokeExact(driver, of.address()));
            MemorySegment properties = arena.allocate(368, 8);
            properties.set(JAVA_INT, 0, DEVICE_PROPERTIES);
            MemorySegment ipVersion = arena.allocate(24, 8);
            ipVersion.set(JAVA_INT, 0, DEVICE_IP_VERSION);
            boolean reportsIpVersion = hasExtension(driver, IP_VERSION_EXTENSION);
            if (reportsIpVersion) {
                properties.set(JAVA_LONG, 8, ipVersion.address());
            }
            ZeLibrary.check("zeDeviceGetProperties", () ->
                    (int) deviceProperties.invokeExact(device, properties.address()));
            return new ZeDeviceInfo(
                    of.get(JAVA_INT, 32),
                    properties.get(JAVA_INT, 16),
                    properties.get(JAVA_INT, 20),
                    properties.get(JAVA_INT, 24),
                    reportsIpVersion
                            ? OptionalInt.of(ipVersion.get(JAVA_INT, 16))
                            : OptionalInt.empty(),
                    properties.get(JAVA_INT, 64)
                            * properties.get(JAVA_INT, 68)
                            * properties.get(JAVA_INT, 72),
                    properties.getString(112));
        }
    }

    /**
     * Returns the highest version of SPIR-V that a device takes, with the major version in the
     * upper half; 0 if it takes none, or if the driver does not report it.
     */
    public int spirvVersion(long device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment properties = arena.allocate(64, 8);
            properties.set(JAVA_INT, 0, MODULE_PROPERTIES);
            int status = ZeLibrary.status("zeDeviceGetModuleProperties", () ->
                    (int) moduleProperties.invokeExact(device, properties.address()));
            return status == 0 ? properties.get(JAVA_INT, 16) : 0;
        }
    }

    /**
     * Returns the number of the first group of queues that executes kernels.
     *
     * @throws IllegalStateException if the device has none
     */
    public int computeQueueGroup(long device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            ZeLibrary.check("zeDeviceGetCommandQueueGroupProperties", () ->
                    (int) queueGroups.invokeExact(device, count.address(), 0L));
            int groups = count.get(JAVA_INT, 0);
            MemorySegment properties = arena.allocate(Math.max(1, groups) * QUEUE_GROUP_BYTES, 8);
            for (int i = 0; i < groups; i++) {
                properties.set(JAVA_INT, i * QUEUE_GROUP_BYTES, COMMAND_QUEUE_GROUP_PROPERTIES);
            }
            ZeLibrary.check("zeDeviceGetCommandQueueGroupProperties", () ->
                    (int) queueGroups.invokeExact(device, count.address(), properties.address()));
            for (int i = 0; i < groups; i++) {
                if ((properties.get(JAVA_INT, i * QUEUE_GROUP_BYTES + 16) & COMPUTE) != 0) {
                    return i;
                }
            }
            throw new IllegalStateException("The device has no queue that executes kernels");
        }
    }

    private boolean hasExtension(long driver, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            ZeLibrary.check("zeDriverGetExtensionProperties", () ->
                    (int) driverExtensions.invokeExact(driver, count.address(), 0L));
            int found = count.get(JAVA_INT, 0);
            if (found == 0) {
                return false;
            }
            MemorySegment extensions = arena.allocate(found * EXTENSION_BYTES, 4);
            ZeLibrary.check("zeDriverGetExtensionProperties", () -> (int)
                    driverExtensions.invokeExact(driver, count.address(), extensions.address()));
            for (int i = 0; i < found; i++) {
                if (extensions.getString(i * EXTENSION_BYTES).equals(name)) {
                    return true;
                }
            }
            return false;
        }
    }
}
