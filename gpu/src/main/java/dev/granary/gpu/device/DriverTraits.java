package dev.granary.gpu.device;

import dev.granary.cache.Target;

/** Known properties of how drivers compile. */
public final class DriverTraits {
    /** The vendor name of PoCL in targets. */
    public static final String POCL = "pocl";

    private DriverTraits() {}

    /**
     * Returns true if a binary for {@code target} covers only the geometries launched before it was
     * taken: the driver compiles kernels at their launches. Of unknown drivers, none does.
     */
    public static boolean compilesAtLaunch(Target target) {
        return target.vendor().equals(POCL);
    }
}
