package dev.granary.gpu.opencl;

import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.Device;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.opencl.binding.ClBinding;
import dev.granary.gpu.opencl.binding.DeviceCalls;
import dev.granary.gpu.opencl.driver.DeviceInfo;
import dev.granary.gpu.opencl.driver.OpenClTargets;

import org.lwjgl.opencl.CL10;
import org.lwjgl.opencl.CL12;
import org.lwjgl.opencl.CL21;

import java.util.List;
import java.util.function.Supplier;

/** One OpenCL device of this machine, with the properties that its driver reports. Immutable. */
public final class OpenClDevice implements Device {
    private static final int CL_DEVICE_ID_INTEL = 0x4251; // cl_intel_device_attribute_query
    // cl_nv_device_attribute_query
    private static final int CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV = 0x4000;
    private static final int CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV = 0x4001;

    private final ClBinding binding;
    private final long handle;
    private final DeviceInfo info;
    private final Target target;
    private final EngineKind kind;
    private final int index;
    private final boolean isPart;

    private OpenClDevice(
            ClBinding binding,
            long handle,
            DeviceInfo info,
            EngineKind kind,
            int index,
            boolean isPart) {
        this.binding = binding;
        this.handle = handle;
        this.info = info;
        this.target = OpenClTargets.targetOf(info);
        this.kind = kind;
        this.index = index;
        this.isPart = isPart;
    }

    static OpenClDevice probe(ClBinding binding, long platform, long handle) {
        long type = binding.devices().deviceLong(handle, CL10.CL_DEVICE_TYPE);
        boolean isProcessor = (type & CL10.CL_DEVICE_TYPE_CPU) != 0;
        return new OpenClDevice(
                binding,
                handle,
                info(binding.devices(), platform, handle),
                isProcessor ? EngineKind.CPU : EngineKind.GPU,
                0,
                false);
    }

    private static DeviceInfo info(DeviceCalls calls, long platform, long device) {
        String extensions =
                queryOrUnknown(() -> calls.deviceText(device, CL10.CL_DEVICE_EXTENSIONS));
        return new DeviceInfo(
                queryOrUnknown(() -> calls.platformText(platform, CL10.CL_PLATFORM_NAME)),
                queryOrUnknown(() -> calls.platformText(platform, CL10.CL_PLATFORM_VERSION)),
                queryOrUnknown(() -> calls.deviceText(device, CL10.CL_DEVICE_VENDOR)),
                queryOrUnknown(() -> calls.deviceText(device, CL10.CL_DEVICE_NAME)),
                queryOrUnknown(() -> calls.deviceText(device, CL10.CL_DEVICE_VERSION)),
                queryOrUnknown(() -> calls.deviceText(device, CL10.CL_DRIVER_VERSION)),
                extensions.contains("cl_intel_device_attribute_query")
                        ? queryOrUnknown(() -> "0x"
                                + Integer.toHexString(calls.deviceInt(device, CL_DEVICE_ID_INTEL)))
                        : Target.UNKNOWN,
                extensions.contains("cl_nv_device_attribute_query")
                        ? queryOrUnknown(() -> calls.deviceInt(
                                        device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV)
                                + "."
                                + calls.deviceInt(device, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV))
                        : Target.UNKNOWN);
    }

    private static String queryOrUnknown(Supplier<String> query) {
        try {
            String text = query.get();
            return text.isBlank() ? Target.UNKNOWN : text;
        } catch (DriverException e) {
            // a failed query gives a stable target that differs from the regular one
            return Target.UNKNOWN;
        }
    }

    /** Returns this device with that index among the devices of its kind. */
    OpenClDevice withIndex(int index) {
        return new OpenClDevice(binding, handle, info, kind, index, isPart);
    }

    @Override
    public Target target() {
        return target;
    }

    /** Returns none: engines of OpenCL read entries of their own target. */
    @Override
    public List<Target> readableTargets() {
        return List.of();
    }

    @Override
    public String name() {
        return info.deviceName();
    }

    /** Returns the platform's name, as the driver reports it. */
    @Override
    public String platformName() {
        return info.platformName();
    }

    /** Returns the kind of device: CPU for a processor, GPU for anything else. */
    @Override
    public EngineKind kind() {
        return kind;
    }

    /**
     * Returns the index among the devices of its kind, from 0 in the loader's order; a sub-device
     * has its main device's.
     */
    @Override
    public int index() {
        return index;
    }

    /**
     * Returns the intermediate languages in which the device takes programs, each with a version,
     * such as {@code SPIR-V_1.2}. None if it takes OpenCL C only, or has a version before OpenCL
     * 2.1.
     */
    @Override
    public List<String> intermediateLanguages() {
        String version =
                queryOrUnknown(() -> binding.devices().deviceText(handle, CL10.CL_DEVICE_VERSION));
        if (version.matches("OpenCL (1\\.|2\\.0).*")) {
            return List.of(); // the loader may have no function for it
        }
        String languages = queryOrUnknown(
                () -> binding.devices().deviceText(handle, CL21.CL_DEVICE_IL_VERSION));
        return languages.equals(Target.UNKNOWN) ? List.of() : List.of(languages.split("\\s+"));
    }

    /** Returns the number of compute units. */
    public int computeUnits() {
        return binding.devices().deviceInt(handle, CL10.CL_DEVICE_MAX_COMPUTE_UNITS);
    }

    /** Returns the largest number of sub-devices; at most 1 if the device cannot be split. */
    @Override
    public int maxSubDevices() {
        return binding.devices().deviceInt(handle, CL12.CL_DEVICE_PARTITION_MAX_SUB_DEVICES);
    }

    /** Returns the limits that launches on this device must keep. */
    public DeviceLimits limits() {
        return new DeviceLimits(
                binding.devices().deviceLong(handle, CL10.CL_DEVICE_LOCAL_MEM_SIZE),
                binding.devices().deviceLong(handle, CL10.CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE),
                binding.devices().deviceLong(handle, CL10.CL_DEVICE_MAX_WORK_GROUP_SIZE),
                binding.devices().deviceLongs(handle, CL10.CL_DEVICE_MAX_WORK_ITEM_SIZES),
                computeUnits());
    }

    /**
     * Splits this device into sub-devices of that many compute units. They share this device's
     * target and are never released.
     *
     * @throws DriverException if the device does not support this split
     */
    public List<OpenClDevice> split(int computeUnits) {
        return binding.devices().equalSubDevices(handle, computeUnits).stream()
                .map(this::part)
                .toList();
    }

    /** Returns the sub-device of this device with that handle. */
    OpenClDevice part(long subDevice) {
        return new OpenClDevice(binding, subDevice, info, kind, index, true);
    }

    @Override
    public OpenClEngine open() {
        return OpenClEngine.open(this);
    }

    /** Returns true for a sub-device. */
    boolean isPart() {
        return isPart;
    }

    long handle() {
        return handle;
    }

    ClBinding binding() {
        return binding;
    }

    @Override
    public String toString() {
        return info.deviceName() + " (" + info.platformName() + ")";
    }
}
