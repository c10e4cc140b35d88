package dev.granary.s3.store;

import org.jspecify.annotations.Nullable;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Optional;

/**
 * Timestamps of an object by the server's clock: clocks of different machines are never compared.
 *
 * @param lastModifiedMillis write time of the object, in milliseconds since 1970; 0 if unknown
 * @param nowMillis time of the response, in milliseconds since 1970; 0 if unknown
 */
public record ServerTimestamps(long lastModifiedMillis, long nowMillis) {
    /** No timestamps. */
    public static final ServerTimestamps NONE = new ServerTimestamps(0, 0);

    /**
     * Parses the headers {@code Last-Modified} and {@code Date}; missing and malformed values count
     * as unknown.
     */
    public static ServerTimestamps ofHeaders(@Nullable String lastModified, @Nullable String date) {
        return new ServerTimestamps(millis(lastModified), millis(date));
    }

    /**
     * Returns the age of the object; empty if it is unknown. The age of an object "from the future"
     * is zero.
     */
    public Optional<Duration> age() {
        return lastModifiedMillis == 0 || nowMillis == 0
                ? Optional.empty()
                : Optional.of(Duration.ofMillis(
                        lastModifiedMillis > nowMillis
                                ? 0
                                : difference(nowMillis, lastModifiedMillis)));
    }

    private static long difference(long later, long earlier) {
        long difference = later - earlier;
        return difference < 0 ? Long.MAX_VALUE : difference; // overflow of a long
    }

    /**
     * Returns a date in milliseconds since 1970; 0 for null and for a date outside the range of a
     * long.
     */
    public static long millis(@Nullable Instant date) {
        try {
            return date == null ? 0 : date.toEpochMilli();
        } catch (ArithmeticException e) {
            return 0;
        }
    }

    private static long millis(@Nullable String header) {
        if (header == null) {
            return 0;
        }
        try {
            return millis(ZonedDateTime.parse(header, DateTimeFormatter.RFC_1123_DATE_TIME)
                    .toInstant());
        } catch (DateTimeException e) {
            return 0;
        }
    }
}
