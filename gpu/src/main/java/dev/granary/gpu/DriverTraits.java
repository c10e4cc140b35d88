package dev.granary.gpu;

import dev.granary.cache.Target;

/**
 * Known properties of how a driver compiles.
 *
 * @param moment when the driver's compiler runs
 */
public record DriverTraits(Moment moment) {
    /** The time at which a driver compiles. */
    public enum Moment {
        /** The whole program when it is built. */
        BUILD,
        /** Part of a kernel at its first launch, specialized for the launch geometry. */
        LAUNCH
    }

    /** The vendor name of PoCL in targets. */
    public static final String POCL = "pocl";

    /**
     * Returns the traits of the driver of {@code target}; an unknown driver is taken to compile at
     * build time.
     */
    public static DriverTraits of(Target target) {
        return new DriverTraits(target.vendor().equals(POCL) ? Moment.LAUNCH : Moment.BUILD);
    }

    /** Returns true if a binary covers only the geometries launched before it was taken. */
    public boolean compilesAtLaunch() {
        return moment == Moment.LAUNCH;
    }
}
