package dev.granary.gpu.levelzero;

import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.Device;
import dev.granary.gpu.levelzero.binding.DriverCalls;
import dev.granary.gpu.levelzero.binding.ZeDeviceInfo;
import dev.granary.gpu.levelzero.binding.ZeLibrary;

import java.util.Collection;
import java.util.List;

/**
 * One Level Zero device of this machine, with the properties that its driver reports. Immutable.
 */
public final class LevelZeroDevice implements Device {
    private final ZeLibrary library;
    private final DriverCalls calls;
    private final long driver;
    private final long handle;
    private final ZeDeviceInfo info;
    private final Target target;
    private final int index;
    private final List<Target> readable;

    private LevelZeroDevice(
            ZeLibrary library,
            DriverCalls calls,
            long driver,
            long handle,
            ZeDeviceInfo info,
            Target target,
            int index,
            List<Target> readable) {
        this.library = library;
        this.calls = calls;
        this.driver = driver;
        this.handle = handle;
        this.info = info;
        this.target = target;
        this.index = index;
        this.readable = readable;
    }

    static LevelZeroDevice of(ZeLibrary library, DriverCalls calls, long driver, long handle) {
        ZeDeviceInfo info = calls.info(driver, handle);
        return new LevelZeroDevice(
                library,
                calls,
                driver,
                handle,
                info,
                LevelZeroTargets.targetOf(info),
                0,
                List.of());
    }

    /** Returns this device with that index among the devices of its kind. */
    LevelZeroDevice withIndex(int index) {
        return new LevelZeroDevice(library, calls, driver, handle, info, target, index, readable);
    }

    /**
     * Returns this device with the targets of OpenCL whose entries its engines read as well: those
     * of {@code candidates} that are of the same device and the same build of the driver. Level
     * Zero does not report the version of OpenCL's driver, so the candidates are those of the
     * devices that {@code OpenCl.devices()} lists, or of a machine whose entries are to be read.
     */
    public LevelZeroDevice reading(Collection<Target> candidates) {
        List<Target> read = candidates.stream()
                .filter(other -> LevelZeroTargets.reads(info, other))
                .distinct()
                .toList();
        return new LevelZeroDevice(library, calls, driver, handle, info, target, index, read);
    }

    /** Returns the targets of OpenCL whose entries engines of this device read as well. */
    @Override
    public List<Target> readableTargets() {
        return readable;
    }

    @Override
    public Target target() {
        return target;
    }

    @Override
    public String name() {
        return info.name();
    }

    /** Returns the vendor: Level Zero has no platforms. */
    @Override
    public String platformName() {
        return target.vendor();
    }

    /** Returns the kind of device: CPU for the processor of the host, GPU for anything else. */
    @Override
    public EngineKind kind() {
        return info.isProcessor() ? EngineKind.CPU : EngineKind.GPU;
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
     * Returns the intermediate languages in which the device takes programs, each with its highest
     * version, such as {@code SPIR-V_1.2}. None if the driver does not report it.
     */
    @Override
    public List<String> intermediateLanguages() {
        int version = calls.spirvVersion(handle);
        return version == 0
                ? List.of()
                : List.of("SPIR-V_" + (version >>> 16) + "." + (version & 0xffff));
    }

    /** Returns the number of compute units. */
    public int computeUnits() {
        return info.computeUnits();
    }

    /**
     * Returns the sub-devices: parts of this device, such as tiles, with queues of their own. They
     * share its target. None if it has no parts.
     *
     * @throws dev.granary.gpu.DriverException if the driver refuses
     */
    public List<LevelZeroDevice> subDevices() {
        return calls.subDevices(handle).stream().map(this::part).toList();
    }

    private LevelZeroDevice part(long subDevice) {
        ZeDeviceInfo its = calls.info(driver, subDevice);
        return new LevelZeroDevice(library, calls, driver, subDevice, its, target, index, readable);
    }

    /** Returns the number of the group of queues that executes kernels. */
    int computeQueueGroup() {
        return calls.computeQueueGroup(handle);
    }

    ZeLibrary binding() {
        return library;
    }

    long driver() {
        return driver;
    }

    long handle() {
        return handle;
    }

    @Override
    public int maxSubDevices() {
        return subDevices().size();
    }

    @Override
    public LevelZeroEngine open() {
        return LevelZeroEngine.open(this);
    }

    @Override
    public String toString() {
        return info.name() + " (" + target.vendor() + " " + target.driver() + ")";
    }
}
