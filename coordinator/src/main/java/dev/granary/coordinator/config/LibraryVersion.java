package dev.granary.coordinator.config;

/** The version of this library. It is told in metadata and never enters an id. */
public final class LibraryVersion {
    /** Such as {@code 0.1.0}. */
    public static final String NUMBER = "0.1.0";

    private LibraryVersion() {}
}
