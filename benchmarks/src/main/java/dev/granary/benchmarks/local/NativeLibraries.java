package dev.granary.benchmarks.local;

import java.nio.file.Path;

/**
 * The native libraries of the peers: they are unpacked where the benchmark cleans up, since a
 * killed process leaves them behind.
 */
final class NativeLibraries {
    private static final String PLACE = "dev.granary.benchmarks.natives";

    private NativeLibraries() {}

    /** Says where; before the first peer is opened. */
    static void unpackInto(Path directory) {
        System.setProperty(PLACE, directory.toString());
        System.setProperty("jffi.extract.dir", directory.toString());
        System.setProperty("lmdbjava.extract.dir", directory.toString());
        System.setProperty("org.sqlite.tmpdir", directory.toString());
    }

    /** Where, for the library that must be told by a call. */
    static String place() {
        return System.getProperty(PLACE, System.getProperty("java.io.tmpdir"));
    }
}
