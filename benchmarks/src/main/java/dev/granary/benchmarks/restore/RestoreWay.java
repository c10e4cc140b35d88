package dev.granary.benchmarks.restore;

/** A way to a primitive whose kernels can be launched. */
enum RestoreWay {
    /** By compiling the source, with the front end if the driver takes no source. */
    COMPILE,
    /** By building SPIR-V that the front end made before. */
    SPIRV,
    /** By the driver from its native binary in memory, without Granary. */
    DRIVER,
    /** By a lookup that hits the local tier. */
    LOCAL,
    /** As {@link #LOCAL}, with a tier that requires signatures. */
    SIGNED,
    /** By a read of the entry's object through the bare S3 client, then as {@link #DRIVER}. */
    GET_DRIVER,
    /** By a lookup that hits the bucket, without a local tier. */
    BUCKET
}
