package dev.granary.coordinator.transfer;

import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * The file names in a tree, which are those of option 1 of oneDNN's persistent-cache RFC:
 * {@code <hash>/<n>/key.bin} and {@code kernel.bin}, and {@code size.txt} at the top. Granary adds
 * {@code kernel.1.bin} and so on for further binaries, and {@code about.txt} for the other fields.
 */
final class TreeNames {
    static final String SIZE = "size.txt";
    static final String KEY = "key.bin";
    static final String ABOUT = "about.txt";

    /** The prefix of the names of staging files. */
    static final String STAGING_PREFIX = ".aside-";

    private static final String FIRST_KERNEL = "kernel.bin";
    private static final Pattern HASH = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,8}");
    private static final Pattern KERNEL = Pattern.compile("kernel\\.([1-9][0-9]{0,3})\\.bin");

    private TreeNames() {}

    /** Returns the file name of binary number {@code index}, counted from 0. */
    static String kernel(int index) {
        return index == 0 ? FIRST_KERNEL : "kernel." + index + ".bin";
    }

    /**
     * Returns the number of the binary with that file name; empty if it is not the name of a
     * binary.
     */
    static OptionalInt kernelIndex(String name) {
        if (name.equals(FIRST_KERNEL)) {
            return OptionalInt.of(0);
        }
        var matcher = KERNEL.matcher(name);
        return matcher.matches()
                ? OptionalInt.of(Integer.parseInt(matcher.group(1)))
                : OptionalInt.empty();
    }

    /**
     * Returns true if the name has the form of the hash of an id: 64 lower-case hexadecimal digits.
     */
    static boolean isHash(String name) {
        return HASH.matcher(name).matches();
    }

    /** Returns true for the number of an entry among those with one hash. */
    static boolean isNumber(String name) {
        return NUMBER.matcher(name).matches();
    }
}
