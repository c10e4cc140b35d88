package dev.granary.local.config;

/** Treatment of a local directory on a network file system. */
public enum NetworkFileSystemPolicy {
    /** The directory is refused, since locks and shared mappings do not work between machines. */
    REFUSE,
    /** The directory is used. Correct only if a single machine uses it. */
    ALLOW
}
