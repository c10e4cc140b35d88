package dev.granary.cache;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Locale;
import java.util.Objects;

/**
 * What a binary fits: a backend, a device identity and a driver version.
 *
 * <p>Two devices with equal targets can exchange binaries: the second of two equal cards, a sub-device and its main device. Nothing of a
 * machine enters (no ordinal, path or context). Which of a driver's strings make up {@code device} and {@code driver} differs per
 * driver and is the engine's decision.
 *
 * @param backend the API family
 * @param vendor who makes the driver, such as {@code pocl} or {@code nvidia}; not empty
 * @param device what the driver generates code for; not empty
 * @param driver the version of the driver and of what it compiles with; not empty, {@link #UNKNOWN} where the probe failed
 */
public record Target(Backend backend, String vendor, String device, String driver) {
    /** Stands for a part that the driver would not tell; stable, and different from every healthy answer. */
    public static final String UNKNOWN = "unknown";

    private static final int PART_LIMIT = 60;
    private static final int HASH_DIGITS = 12;

    /**
     * Checks that no part is missing.
     *
     * @throws IllegalArgumentException if a part is blank, or holds half a surrogate pair and so has no bytes of its own
     */
    public Target {
        Objects.requireNonNull(backend, "backend");
        requireText(vendor, "vendor");
        requireText(device, "device");
        requireText(driver, "driver");
    }

    /**
     * A readable name that is one path component: lower-case ASCII letters, digits, dots, dashes and underscores, at most 200 bytes,
     * never starting with a dot.
     *
     * <p>Vendor, device and driver in short, then the first digits of the SHA-256 of all parts in full: equal targets have equal names,
     * different targets different ones.
     */
    public String name() {
        return shortened(vendor) + "_" + shortened(device) + "_" + shortened(driver) + "_" + digest();
    }

    /** Backend and name: the namespace of this target in a directory or a bucket, such as {@code opencl/pocl_...}. */
    public String path() {
        return backend.path() + "/" + name();
    }

    private String digest() {
        IdEncoder all = new IdEncoder();
        for (String part : new String[] {backend.path(), vendor, device, driver}) {
            all.bytes(part.getBytes(UTF_8));
        }
        return Sha256.of(all.toByteArray()).hex().substring(0, HASH_DIGITS);
    }

    private static String shortened(String part) {
        String safe = withoutMarksAround(part.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9.]+", "-"));
        if (safe.isEmpty()) {
            return "x";
        }
        return safe.length() <= PART_LIMIT ? safe : safe.substring(0, PART_LIMIT);
    }

    /** Linear in the length: a regular expression would be tried at each mark of a long run. */
    private static String withoutMarksAround(String text) {
        int start = 0;
        int end = text.length();
        while (start < end && isMark(text.charAt(start))) {
            start++;
        }
        while (start < end && isMark(text.charAt(end - 1))) {
            end--;
        }
        return text.substring(start, end);
    }

    private static boolean isMark(char c) {
        return c == '-' || c == '.';
    }

    private static void requireText(String part, String name) {
        if (part.isBlank()) {
            throw new IllegalArgumentException("A target needs its " + name + "; where a driver does not tell it, use Target.UNKNOWN");
        }
        if (!UTF_8.newEncoder().canEncode(part)) {
            throw new IllegalArgumentException("A target's " + name + " is text; this one holds half a surrogate pair: " + part);
        }
    }
}
