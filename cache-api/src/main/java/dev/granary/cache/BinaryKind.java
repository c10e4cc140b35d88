package dev.granary.cache;

/** The kind of content in a {@link KernelBinaries}. */
public enum BinaryKind {
    /** Device code of kernels, as a driver returns and accepts it. */
    KERNEL,
    /** A whole serialized primitive. Reserved: no engine supports it yet. */
    PRIMITIVE
}
