package dev.granary.benchmarks.local.store;

import java.nio.file.Path;

/**
 * The native libraries of the peers. They are unpacked into a directory that the benchmark deletes,
 * since a killed process leaves them behind.
 */
public final class NativeLibraries {
    private static final String PLACE = "dev.granary.benchmarks.natives";

    private NativeLibraries() {}

    /** Sets the directory; must precede the opening of the first peer. */
    public static void unpackInto(Path directory) {
        System.setProperty(PLACE, directory.toString());
        System.setProperty("jffi.extract.dir", directory.toString());
        System.setProperty("lmdbjava.extract.dir", directory.toString());
        System.setProperty("org.sqlite.tmpdir", directory.toString());
    }

    /** Returns the directory, for a library that takes it by a call. */
    static String place() {
        return System.getProperty(PLACE, System.getProperty("java.io.tmpdir"));
    }
}
