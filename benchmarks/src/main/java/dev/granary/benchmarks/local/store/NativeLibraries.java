package dev.granary.benchmarks.local.store;

import java.nio.file.Path;

/**
 * The native libraries of LMDB's binding. They are unpacked into a directory that the benchmark
 * deletes, since a killed process leaves them behind.
 */
public final class NativeLibraries {
    private NativeLibraries() {}

    /** Sets the directory; must precede the opening of the first store. */
    public static void unpackInto(Path directory) {
        System.setProperty("jffi.extract.dir", directory.toString());
        System.setProperty("lmdbjava.extract.dir", directory.toString());
    }
}
