package dev.granary.coordinator.config;

/** Version of this library. It is part of the metadata and of no id. */
public final class LibraryVersion {
    /** The version, such as {@code 0.1.0}. */
    public static final String NUMBER = "0.1.0";

    private LibraryVersion() {}
}
