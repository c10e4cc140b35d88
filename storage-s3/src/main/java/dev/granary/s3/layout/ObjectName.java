package dev.granary.s3.layout;

import dev.granary.cache.Sha256;

import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of an immutable object of a target: a pack or a base.
 *
 * @param generation the generation of the head when the object's writer began
 * @param hash the SHA-256 of the object
 */
public record ObjectName(long generation, Sha256 hash) {
    static final String PATTERN = "[0-9a-f]{16}-[0-9a-f]{64}";

    private static final Pattern NAME = Pattern.compile("([0-7][0-9a-f]{15})-([0-9a-f]{64})");

    /** Parses a name as {@link #toString} returns it; empty for any other text. */
    public static Optional<ObjectName> parse(String text) {
        Matcher name = NAME.matcher(text);
        return name.matches()
                ? Optional.of(new ObjectName(
                        HexFormat.fromHexDigitsToLong(name.group(1)), Sha256.parse(name.group(2))))
                : Optional.empty();
    }

    /** Returns the generation in 16 hexadecimal digits, a hyphen, and the hash. */
    @Override
    public String toString() {
        return HexFormat.of().toHexDigits(generation) + "-" + hash.hex();
    }
}
