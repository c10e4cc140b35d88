package dev.granary.gpu.opencl;

import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import java.util.List;
import org.lwjgl.opencl.CL10;

/** One OpenCL device of this machine, with what its driver says of itself. Immutable. */
public final class OpenClDevice {
    private final ClBinding binding;
    private final long platform;
    private final long handle;
    private final Target target;
    private final String name;
    private final String platformName;
    private final EngineKind kind;
    private final int index;

    private OpenClDevice(
            ClBinding binding, long platform, long handle, Target target, String name, String platformName, EngineKind kind, int index) {
        this.binding = binding;
        this.platform = platform;
        this.handle = handle;
        this.target = target;
        this.name = name;
        this.platformName = platformName;
        this.kind = kind;
        this.index = index;
    }

    static OpenClDevice probe(ClBinding binding, long platform, long handle) {
        DeviceInfo answers = DeviceInfo.ask(binding, platform, handle);
        boolean isProcessor = (binding.deviceLong(handle, CL10.CL_DEVICE_TYPE) & CL10.CL_DEVICE_TYPE_CPU) != 0;
        return new OpenClDevice(binding, platform, handle, OpenClTargets.targetOf(answers), answers.deviceName(), answers.platformName(),
                isProcessor ? EngineKind.CPU : EngineKind.GPU, 0);
    }

    /** This device, as that one of its kind. */
    OpenClDevice numbered(int number) {
        return new OpenClDevice(binding, platform, handle, target, name, platformName, kind, number);
    }

    /** What binaries for this device fit. */
    public Target target() {
        return target;
    }

    /** The device's name, as the driver tells it. */
    public String name() {
        return name;
    }

    /** The platform's name, as the driver tells it. */
    public String platformName() {
        return platformName;
    }

    /** What it is: a processor, or anything else. */
    public EngineKind kind() {
        return kind;
    }

    /** Its number among the devices of its kind, in the loader's order, from 0; a sub-device has its main device's. */
    public int index() {
        return index;
    }

    /** The number of compute units. */
    public int computeUnits() {
        return binding.deviceInt(handle, CL10.CL_DEVICE_MAX_COMPUTE_UNITS);
    }

    /**
     * Splits this device into sub-devices of that many compute units. They share this device's target, and live as long as the process.
     *
     * @throws OpenClException if the device cannot be split so
     */
    public List<OpenClDevice> split(int computeUnits) {
        return binding.equalSubDevices(handle, computeUnits).stream()
                .map(sub -> new OpenClDevice(binding, platform, sub, target, name, platformName, kind, index))
                .toList();
    }

    long handle() {
        return handle;
    }

    ClBinding binding() {
        return binding;
    }

    @Override
    public String toString() {
        return name + " (" + platformName + ")";
    }
}
