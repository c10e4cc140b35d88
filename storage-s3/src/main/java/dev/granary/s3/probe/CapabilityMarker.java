package dev.granary.s3.probe;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.granary.s3.store.ServerTimestamps;
import java.io.IOException;
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
public record CapabilityMarker(ConditionalWriteSupport writes, ConditionalDeleteSupport deletion, long probedMillis, String producer) {
    /** Time for which a marker is valid, from the write time of the object. */
    static final Duration TIME_TO_LIVE = Duration.ofDays(7);

    /** Maximum length of a marker, in bytes. */
    static final int MAX_BYTES = 4096;

    private static final int FORMAT = 1;
    private static final String FORMAT_NAME = "format";
    private static final String WRITES_NAME = "conditionalWrites";
    private static final String DELETION_NAME = "conditionalDelete";
    private static final ObjectMapper JSON = new ObjectMapper();

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
        ObjectNode node = JSON.createObjectNode().put(FORMAT_NAME, FORMAT).put(WRITES_NAME, writes.name()).put(DELETION_NAME, deletion.name())
                .put("probed", probedMillis == 0 ? "" : Instant.ofEpochMilli(probedMillis).toString())
                .put("producer", producer);
        try {
            return (JSON.writerWithDefaultPrettyPrinter().writeValueAsString(node) + "\n").getBytes(UTF_8);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("Texts and numbers can always be written", e);
        }
    }

    /** Parses an object with arbitrary content. */
    public static Parsed parse(byte[] bytes) {
        try {
            JsonNode node = JSON.readTree(bytes);
            if (node == null || !node.path(FORMAT_NAME).canConvertToInt()) {
                return new Parsed.Malformed();
            }
            int format = node.path(FORMAT_NAME).intValue();
            if (format != FORMAT) {
                return format > FORMAT ? new Parsed.Newer() : new Parsed.Malformed();
            }
            ConditionalWriteSupport writes = constant(ConditionalWriteSupport.values(), node.path(WRITES_NAME));
            ConditionalDeleteSupport deletion = constant(ConditionalDeleteSupport.values(), node.path(DELETION_NAME));
            return new Parsed.Known(new CapabilityMarker(writes, deletion, millis(node.path("probed").asText()), node.path("producer").asText()));
        } catch (IOException | RuntimeException e) { // arbitrary content: no marker may stop a publication
            return new Parsed.Malformed();
        }
    }

    private static <E extends Enum<E>> E constant(E[] values, JsonNode name) {
        return Arrays.stream(values).filter(value -> value.name().equals(name.asText())).findFirst()
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
