package dev.granary.cli.device;

import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.levelzero.LevelZeroDevice;
import dev.granary.gpu.levelzero.LevelZeroEngine;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;

import java.util.List;

/** A device of this machine, through one backend. Immutable. */
public sealed interface HostDevice {
    /** Returns the target of binaries for the device. */
    Target target();

    /** Returns the targets of other backends whose entries its engines read as well. */
    List<Target> readableTargets();

    /** Returns the intermediate languages in which the device takes programs. */
    List<String> intermediateLanguages();

    /** Returns the name of its OpenCL platform, or of the vendor with another backend. */
    String platform();

    /** Returns the name that the driver reports. */
    String name();

    /** Returns the kind of the device. */
    EngineKind kind();

    /**
     * Returns the number of sub-devices: with OpenCL the most into which the device can be split,
     * with Level Zero those that it has.
     */
    int subDevices();

    /** Returns name, driver and platform in one line, a part of which selects the device. */
    String description();

    /** Opens an engine on the device. */
    KernelEngine open();

    /** A device through OpenCL. */
    record OfOpenCl(OpenClDevice device) implements HostDevice {
        @Override
        public Target target() {
            return device.target();
        }

        @Override
        public List<Target> readableTargets() {
            return List.of();
        }

        @Override
        public List<String> intermediateLanguages() {
            return device.intermediateLanguages();
        }

        @Override
        public String platform() {
            return device.platformName();
        }

        @Override
        public String name() {
            return device.name();
        }

        @Override
        public EngineKind kind() {
            return device.kind();
        }

        @Override
        public int subDevices() {
            return device.maxSubDevices();
        }

        @Override
        public String description() {
            return device.toString();
        }

        @Override
        public OpenClEngine open() {
            return OpenClEngine.open(device);
        }
    }

    /** A device through Level Zero. */
    record OfLevelZero(LevelZeroDevice device) implements HostDevice {
        @Override
        public Target target() {
            return device.target();
        }

        @Override
        public List<Target> readableTargets() {
            return device.readableTargets();
        }

        @Override
        public List<String> intermediateLanguages() {
            return device.intermediateLanguages();
        }

        @Override
        public String platform() {
            return device.target().vendor();
        }

        @Override
        public String name() {
            return device.name();
        }

        @Override
        public EngineKind kind() {
            return device.kind();
        }

        @Override
        public int subDevices() {
            return device.subDevices().size();
        }

        @Override
        public String description() {
            return device.toString();
        }

        @Override
        public LevelZeroEngine open() {
            return LevelZeroEngine.open(device);
        }
    }
}
