package dev.granary.local.config;

/** What becomes of a local directory that lies on a network file system. */
public enum NetworkFileSystemPolicy {
    /** It is refused: locks and shared mappings do not hold between machines. */
    REFUSE,
    /** It is used. Right only where a single machine uses the directory. */
    ALLOW
}
