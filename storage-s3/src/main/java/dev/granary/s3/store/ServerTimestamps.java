package dev.granary.s3.store;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a server's own clock says of an object: no machine compares its clock with another's.
 *
 * @param lastModifiedMillis when the object was written, in milliseconds since 1970; 0 where the server does not tell
 * @param nowMillis when the server answered, in milliseconds since 1970; 0 where it does not tell
 */
public record ServerTimestamps(long lastModifiedMillis, long nowMillis) {
    /** Of a server that tells nothing. */
    public static final ServerTimestamps NONE = new ServerTimestamps(0, 0);

    /** As the headers {@code Last-Modified} and {@code Date} tell them; what is missing or cannot be read counts as not told. */
    public static ServerTimestamps ofHeaders(@Nullable String lastModified, @Nullable String date) {
        return new ServerTimestamps(millis(lastModified), millis(date));
    }

    /** How old the object is; empty where the server does not tell. An object "from the future" is new. */
    public Optional<Duration> age() {
        return lastModifiedMillis == 0 || nowMillis == 0
                ? Optional.empty()
                : Optional.of(Duration.ofMillis(lastModifiedMillis > nowMillis ? 0 : difference(nowMillis, lastModifiedMillis)));
    }

    private static long difference(long later, long earlier) {
        long difference = later - earlier;
        return difference < 0 ? Long.MAX_VALUE : difference; // over the range of a long
    }

    /** A date in milliseconds since 1970; 0 for none, and for one that milliseconds cannot tell. */
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
            return millis(ZonedDateTime.parse(header, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
        } catch (DateTimeException e) {
            return 0;
        }
    }
}
