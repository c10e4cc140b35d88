package dev.granary.cache.constant;

/** What a device is, as far as its memory goes. */
public enum EngineKind {
    /** The processor: its memory is the machine's. */
    CPU,
    /** Everything else: a device with a memory, or a share of it, of its own. */
    GPU
}
