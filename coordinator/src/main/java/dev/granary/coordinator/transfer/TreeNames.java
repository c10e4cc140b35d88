package dev.granary.coordinator.transfer;

import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * The names in a tree, those of option 1 of oneDNN's persistent-cache RFC: {@code <hash>/<n>/key.bin} and {@code kernel.bin}, and
 * {@code size.txt} at the top. Ours beside them: {@code kernel.1.bin} and so on for further binaries, {@code about.txt} for the rest.
 */
final class TreeNames {
    static final String SIZE = "size.txt";
    static final String KEY = "key.bin";
    static final String ABOUT = "about.txt";

    /** What the name of an entry that is being written begins with. */
    static final String ASIDE = ".aside-";

    private static final String FIRST_KERNEL = "kernel.bin";
    private static final Pattern HASH = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,8}");
    private static final Pattern KERNEL = Pattern.compile("kernel\\.([1-9][0-9]{0,3})\\.bin");

    private TreeNames() {}

    /** The name of binary number {@code index}, from 0. */
    static String kernel(int index) {
        return index == 0 ? FIRST_KERNEL : "kernel." + index + ".bin";
    }

    /** The number of the binary of that name, or empty where it is none's. */
    static OptionalInt kernelIndex(String name) {
        if (name.equals(FIRST_KERNEL)) {
            return OptionalInt.of(0);
        }
        var matcher = KERNEL.matcher(name);
        return matcher.matches() ? OptionalInt.of(Integer.parseInt(matcher.group(1))) : OptionalInt.empty();
    }

    /** True for a name that one of our hashes could have. */
    static boolean isHash(String name) {
        return HASH.matcher(name).matches();
    }

    /** True for the number of an entry among those with one hash. */
    static boolean isNumber(String name) {
        return NUMBER.matcher(name).matches();
    }
}
