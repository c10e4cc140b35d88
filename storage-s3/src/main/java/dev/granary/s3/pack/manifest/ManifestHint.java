package dev.granary.s3.pack.manifest;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.s3.store.GetResult;

import java.lang.foreign.ValueLayout;
import java.time.Instant;
import java.util.Locale;
import java.util.OptionalLong;

/**
 * The hint of a target: the object that names a recent manifest, from which readers search.
 *
 * @param number the manifest that it names; 0 if it is malformed, or nothing is committed yet
 * @param etag its version
 * @param writtenMillis when it was written, by the server's clock, in milliseconds since 1970; 0 if
 *     the server did not report it
 */
record ManifestHint(long number, String etag, long writtenMillis) {
    /** A hint of which nothing is known. */
    static final ManifestHint UNKNOWN = new ManifestHint(0, "", 0);

    /** The largest number of a manifest: milliseconds since {@link #EPOCH} for 278 years. */
    static final long MAX_NUMBER = 1L << 43;

    private static final long SMALL_NUMBER = 1L << 20;
    private static final int LARGE_DIGITS = 16;
    private static final String LARGE_NUMBER = "%0" + LARGE_DIGITS + "d";

    /**
     * The time from which the first number of a chain is counted, in milliseconds of the server's
     * clock. A chain that began earlier, or at an unknown time, begins at 1.
     */
    private static final Instant EPOCH = Instant.parse("2026-01-01T00:00:00Z");

    /**
     * Returns the number of the first manifest of a chain. All writers that read this version of
     * the hint compute the same one, so that one of them creates it. It is larger than all numbers
     * that were removed before the hint was written. Numbers are thus never reused, and a process
     * that knows a manifest of an earlier chain builds nothing on it.
     */
    long first() {
        return Math.max(Math.max(1, writtenMillis - EPOCH.toEpochMilli()), number + 1);
    }

    /** Returns the number to search from: all later manifests follow without a gap. */
    long searchStart() {
        return number > 0 ? number : first() - 1;
    }

    /** Returns the hint in a response; a malformed one has number 0. */
    static ManifestHint of(GetResult.Found found) {
        return new ManifestHint(
                parsed(found).orElse(0), found.etag(), found.dates().lastModifiedMillis());
    }

    /** Returns true if a response has no well-formed hint. */
    static boolean isMalformed(GetResult hint) {
        return switch (hint) {
            case GetResult.Found found -> parsed(found).isEmpty();
            case GetResult.TooLarge _ -> true;
            case GetResult.Absent _, GetResult.Unavailable _ -> false;
        };
    }

    /**
     * Returns the bytes of a hint. Large numbers are padded with zeros, so that a truncated one is
     * never taken for another.
     */
    static byte[] encode(long number) {
        return (number < SMALL_NUMBER
                        ? Long.toString(number)
                        : String.format(Locale.ROOT, LARGE_NUMBER, number))
                .getBytes(US_ASCII);
    }

    private static OptionalLong parsed(GetResult.Found hint) {
        String text = new String(hint.bytes().toArray(ValueLayout.JAVA_BYTE), US_ASCII).strip();
        try {
            long number = Long.parseLong(text);
            boolean isWhole = text.length() == LARGE_DIGITS
                    || text.equals("0")
                    || (number < SMALL_NUMBER && !text.startsWith("0"));
            return isWhole && number >= 0 && number <= MAX_NUMBER
                    ? OptionalLong.of(number)
                    : OptionalLong.empty();
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }
}
