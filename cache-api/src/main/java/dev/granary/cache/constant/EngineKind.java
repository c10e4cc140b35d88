package dev.granary.cache.constant;

/** The kind of a device, with regard to its memory. */
public enum EngineKind {
    /** A processor, which uses the machine's memory. */
    CPU,
    /** Any other device, which has its own memory or a share of one. */
    GPU
}
