package dev.granary.cli.output;

import java.time.Duration;
import java.util.Locale;

/** Formatter of quantities. */
public final class Units {
    /** Number of digits of a shortened id. */
    public static final int SHORT_ID = 16;

    private static final double MINUTE = 60_000; // in milliseconds

    private Units() {}

    /** Returns the text, truncated to at most {@code characters}, 3 or more, with three dots. */
    public static String cut(String text, int characters) {
        int end = text.offsetByCodePoints(
                0, Math.min(characters, text.codePointCount(0, text.length())));
        return end == text.length()
                ? text
                : text.substring(0, text.offsetByCodePoints(0, characters - 3)) + "...";
    }

    /** Returns text such as {@code 512 B}, {@code 63.0 KiB}, {@code 5.6 MiB}. */
    public static String bytes(long bytes) {
        if (bytes < 1024) {
            return bytes + " B";
        }
        double value = bytes;
        int unit = -1;
        while (value >= 1024 && unit < 3) {
            value /= 1024;
            unit++;
        }
        return String.format(Locale.ROOT, "%.1f %siB", value, "KMGT".charAt(unit));
    }

    /** Returns text such as {@code 3.1 ms}, {@code 1,634 ms}, {@code 12.3 s}, {@code 2.5 h}. */
    public static String time(Duration time) {
        return millis(millis(time));
    }

    /** Returns a number of milliseconds as text, as {@link #time} does. */
    public static String millis(double millis) {
        if (millis < 100) {
            return String.format(Locale.ROOT, "%.1f ms", millis);
        }
        if (millis < 10_000) {
            return String.format(Locale.ROOT, "%,.0f ms", millis);
        }
        if (millis < 2 * MINUTE) {
            return String.format(Locale.ROOT, "%.1f s", millis / 1000);
        }
        return millis < 120 * MINUTE
                ? String.format(Locale.ROOT, "%.1f min", millis / MINUTE)
                : String.format(Locale.ROOT, "%,.1f h", millis / MINUTE / 60);
    }

    /** Returns milliseconds, rounded to three decimals. */
    public static double millis(Duration time) {
        return Math.round(time.toNanos() / 1e3) / 1e3;
    }

    /** Returns the word for a constant, such as {@code timed-out}. */
    public static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Returns text such as {@code 10,000}. */
    public static String count(long count) {
        return String.format(Locale.ROOT, "%,d", count);
    }

    /** Returns text such as {@code 3 entries (1.2 MiB)}. */
    public static String entries(long entries, long bytes) {
        return plural(entries, "entry") + " (" + bytes(bytes) + ")";
    }

    /** Returns the sum of two sizes, without overflow: a server may report any size. */
    public static long sum(long one, long other) {
        return Math.max(0, other) > Long.MAX_VALUE - one
                ? Long.MAX_VALUE
                : one + Math.max(0, other);
    }

    /** Returns text such as {@code 1 entry}, {@code 1,200 entries}. */
    public static String plural(long count, String noun) {
        return count(count) + " "
                + (count == 1
                        ? noun
                        : noun.endsWith("y")
                                ? noun.substring(0, noun.length() - 1) + "ies"
                                : noun + "s");
    }
}
