package dev.granary.gpu.opencl;

import dev.granary.gpu.device.DriverTraits;

/** The device for tests marked with {@link NeedsPocl}. */
final class PoclDevice {
    private PoclDevice() {}

    static boolean isPocl(OpenClDevice device) {
        return device.target().vendor().equals(DriverTraits.POCL);
    }

    static OpenClDevice get() {
        return OpenCl.devices().stream().filter(PoclDevice::isPocl).findFirst().orElseThrow();
    }
}
