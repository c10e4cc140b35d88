package dev.granary.gpu;

import dev.granary.cache.Target;

/**
 * What a driver is known to do with binaries.
 *
 * @param moment when its compiler runs
 */
public record DriverTraits(Moment moment) {
    /** When a driver compiles. */
    public enum Moment {
        /** All at once, when the program is built. */
        BUILD,
        /** The rest at a kernel's first launch, specialised by the launch geometry. */
        LAUNCH
    }

    /** PoCL's name as a vendor in targets. */
    public static final String POCL = "pocl";

    /** What is known of the driver of {@code target}; a driver that nothing is known of compiles when it builds. */
    public static DriverTraits of(Target target) {
        return new DriverTraits(target.vendor().equals(POCL) ? Moment.LAUNCH : Moment.BUILD);
    }

    /** True where a binary covers only the geometries that were launched before it was taken. */
    public boolean compilesAtLaunch() {
        return moment == Moment.LAUNCH;
    }
}
