package dev.granary.cache;

/** What the byte strings of a {@link KernelBinaries} represent. */
public enum BinaryKind {
    /** Device code of kernels, as a driver hands it out and takes it back. */
    KERNEL,
    /** A whole primitive, serialized. Reserved: no engine supports it yet. */
    PRIMITIVE
}
