package dev.granary.gpu;

import dev.granary.cache.Target;
import dev.granary.cache.constant.ConstantDevice;

import java.util.List;

/** A device of this machine, through one backend. Its text has name and platform. Immutable. */
public interface Device extends ConstantDevice {
    /** Returns the target of binaries for this device. */
    Target target();

    /** Returns the targets of other backends whose entries engines of this device read as well. */
    List<Target> readableTargets();

    /**
     * Returns the intermediate languages in which the device takes programs, each with a version,
     * such as {@code SPIR-V_1.2}. None if the driver does not report it.
     */
    List<String> intermediateLanguages();

    /** Returns the name of its platform, or of the vendor if the backend has no platforms. */
    String platformName();

    /** Returns the device's name, as the driver reports it. */
    String name();

    /** Returns the largest number of sub-devices that it has, or into which it can be split. */
    int maxSubDevices();

    /** Opens an engine on the device. */
    KernelEngine open();
}
