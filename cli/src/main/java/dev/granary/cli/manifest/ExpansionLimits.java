package dev.granary.cli.manifest;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Limits of one manifest with all that it includes, since a short text may stand for many programs
 * or a whole file system. Each method counts, and returns false beyond its limit. Not thread-safe.
 */
final class ExpansionLimits {
    static final int MAX_MANIFESTS = 100;

    /** The largest number of programs that are not written one by one. */
    static final int MAX_KERNELS = 10_000;

    /** The largest number of build options and include directories of all these programs. */
    static final int MAX_OPTIONS = 1_000_000;

    /** The largest number of files and directories that all patterns are compared with. */
    static final int MAX_FILES = 200_000;

    /** The longest name that is made of a path and the values of macros. */
    static final int MAX_NAME_CHARACTERS = 1_000;

    private int manifests;
    private long kernels;
    private long options;
    private final AtomicInteger filesLeft = new AtomicInteger(MAX_FILES);

    boolean addManifest() {
        return ++manifests <= MAX_MANIFESTS;
    }

    /** Counts programs that one table stands for. */
    boolean addKernels(long count) {
        kernels += count;
        return kernels <= MAX_KERNELS;
    }

    /** Counts build options and include directories that are not written one by one. */
    boolean addOptions(long count) {
        options += count;
        return options <= MAX_OPTIONS;
    }

    AtomicInteger filesLeft() {
        return filesLeft;
    }
}
