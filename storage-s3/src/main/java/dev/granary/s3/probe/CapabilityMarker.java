package dev.granary.s3.probe;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.Strictness;

import dev.granary.s3.store.ServerTimestamps;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;

/**
 * Content of {@code granary.json}: the result of a probe, so that not every process sends one.
 *
 * @param writes the conditional writes that the server supports
 * @param deletion the support of conditional deletions
 * @param probedMillis time of the probe by the server's clock, in milliseconds since 1970, for
 *     people; 0 if the server sent no date
 * @param producer the program that probed, such as {@code granary 0.1.0}, for people
 */
public record CapabilityMarker(
        ConditionalWriteSupport writes,
        ConditionalDeleteSupport deletion,
        long probedMillis,
        String producer) {
    /** Time for which a marker is valid, from the write time of the object. */
    static final Duration TIME_TO_LIVE = Duration.ofDays(7);

    /** Maximum length of a marker, in bytes. */
    static final int MAX_BYTES = 4096;

    private static final int FORMAT = 1;
    private static final String FORMAT_NAME = "format";
    private static final String WRITES_NAME = "conditionalWrites";
    private static final String DELETION_NAME = "conditionalDelete";
    private static final Gson JSON = new GsonBuilder()
            .setStrictness(Strictness.STRICT)
            .disableHtmlEscaping()
            .create();

    /** Result of parsing a marker. */
    public sealed interface Parsed {
        /** A marker of this format. */
        record Known(CapabilityMarker marker) implements Parsed {}

        /** A marker of a format newer than this version of Granary: not to be overwritten. */
        record Newer() implements Parsed {}

        /** Not a marker. */
        record Malformed() implements Parsed {}
    }

    /** Returns the content of the object. */
    public byte[] json() {
        return ("{\n" + field(FORMAT_NAME, FORMAT) + ",\n" + field(WRITES_NAME, writes.name())
                        + ",\n"
                        + field(DELETION_NAME, deletion.name()) + ",\n"
                        + field(
                                "probed",
                                probedMillis == 0
                                        ? ""
                                        : Instant.ofEpochMilli(probedMillis).toString())
                        + ",\n"
                        + field("producer", producer) + "\n}\n")
                .getBytes(UTF_8);
    }

    private static String field(String name, Object value) {
        return "  " + JSON.toJson(name) + " : " + JSON.toJson(value);
    }

    /** Parses an object with arbitrary content. */
    public static Parsed parse(byte[] bytes) {
        try {
            JsonObject object = JSON.fromJson(new String(bytes, UTF_8), JsonObject.class);
            int format = object.get(FORMAT_NAME).getAsBigDecimal().intValueExact();
            if (format != FORMAT) {
                return format > FORMAT ? new Parsed.Newer() : new Parsed.Malformed();
            }
            ConditionalWriteSupport writes =
                    constant(ConditionalWriteSupport.values(), text(object, WRITES_NAME));
            ConditionalDeleteSupport deletion =
                    constant(ConditionalDeleteSupport.values(), text(object, DELETION_NAME));
            return new Parsed.Known(new CapabilityMarker(
                    writes, deletion, millis(text(object, "probed")), text(object, "producer")));
        } catch (RuntimeException e) { // arbitrary content: no marker may stop a publication
            return new Parsed.Malformed();
        }
    }

    private static String text(JsonObject object, String name) {
        JsonElement value = object.get(name);
        return value == null || !value.isJsonPrimitive() ? "" : value.getAsString();
    }

    private static <E extends Enum<E>> E constant(E[] values, String name) {
        return Arrays.stream(values)
                .filter(value -> value.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("Not one of the names"));
    }

    private static long millis(String text) {
        try {
            return text.isEmpty() ? 0 : ServerTimestamps.millis(Instant.parse(text));
        } catch (DateTimeException e) {
            return 0;
        }
    }
}
