package dev.granary.cache;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * The compatibility of a binary: a backend, a device identity and a driver version.
 *
 * <p>Devices with equal targets can exchange binaries, for example two identical cards, or a
 * sub-device and its main device. A target contains nothing specific to a machine (no ordinal, path
 * or context). Each engine chooses the driver's strings that make up {@code device} and
 * {@code driver}.
 *
 * @param backend the API family
 * @param vendor the vendor of the driver, such as {@code pocl} or {@code nvidia}; not empty
 * @param device the device for which the driver generates code; not empty
 * @param driver the version of the driver and its compiler; not empty, {@link #UNKNOWN} if it could
 *     not be determined
 */
public record Target(Backend backend, String vendor, String device, String driver) {
    /**
     * The value of a part that the driver does not report. It is stable and differs from every
     * reported value.
     */
    public static final String UNKNOWN = "unknown";

    private static final int PART_LIMIT = 60;
    private static final int HASH_DIGITS = 12;
    private static final Pattern OTHERS = Pattern.compile("[^a-z0-9.]+");
    // linear in the length of the text: a run of marks is tried from its first one only
    private static final Pattern MARKS_AT_ENDS = Pattern.compile("^[-.]+|(?<![-.])[-.]++$");

    /**
     * Checks that all parts are present.
     *
     * @throws IllegalArgumentException if a part is blank, or contains an unpaired surrogate and
     *     thus has no encoding
     */
    public Target {
        Objects.requireNonNull(backend, "backend");
        requireText(vendor, "vendor");
        requireText(device, "device");
        requireText(driver, "driver");
    }

    /**
     * Returns a readable name that is one path component: lower-case ASCII letters, digits, dots,
     * dashes and underscores, at most 200 bytes, never starting with a dot.
     *
     * <p>The name contains shortened vendor, device and driver, then the first digits of the
     * SHA-256 of all parts in full. Equal targets have equal names, different targets different
     * ones.
     */
    public String name() {
        return shortened(vendor) + "_" + shortened(device) + "_" + shortened(driver) + "_"
                + digest();
    }

    /**
     * Returns backend and name: the namespace of this target in a directory or a bucket, such as
     * {@code opencl/pocl_...}.
     */
    public String path() {
        return backend.path() + "/" + name();
    }

    // by hand: the methods of a record take the first lookup of a process some milliseconds
    @Override
    public boolean equals(@Nullable Object other) {
        return this == other || (other instanceof Target that && parts().equals(that.parts()));
    }

    @Override
    public int hashCode() {
        return parts().hashCode();
    }

    private List<String> parts() {
        return List.of(backend.path(), vendor, device, driver);
    }

    private String digest() {
        Id.Encoder all = new Id.Encoder();
        for (String part : parts()) {
            all.bytes(part.getBytes(UTF_8));
        }
        return Sha256.of(all.toByteArray()).hex().substring(0, HASH_DIGITS);
    }

    /** Returns the part in lower case, with one dash for each run of other characters. */
    private static String shortened(String part) {
        String words = OTHERS.matcher(part.toLowerCase(Locale.ROOT)).replaceAll("-");
        String safe = MARKS_AT_ENDS.matcher(words).replaceAll("");
        return safe.isEmpty() ? "x" : safe.substring(0, Math.min(safe.length(), PART_LIMIT));
    }

    private static void requireText(String part, String name) {
        if (part.isBlank()) {
            throw new IllegalArgumentException("A target needs its " + name
                    + "; if the driver does not report it, use Target.UNKNOWN");
        }
        if (!UTF_8.newEncoder().canEncode(part)) {
            throw new IllegalArgumentException("The " + name
                    + " of a target must be valid text, without unpaired surrogates: " + part);
        }
    }
}
