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
 * What is in {@code granary.json}: what a probe found out about the server, so that not every process probes.
 *
 * @param writes which conditions on writes the server keeps
 * @param deletion whether it keeps the condition on a deletion
 * @param probedMillis when that was found out, in milliseconds since 1970 by the server's clock, for people; 0 where the server did not tell
 * @param producer what found it out, such as {@code granary 0.1.0}, for people
 */
public record CapabilityMarker(ConditionalWriteSupport writes, ConditionalDeleteSupport deletion, long probedMillis, String producer) {
    /** How long a marker is believed, from when the object was written. */
    static final Duration TIME_TO_LIVE = Duration.ofDays(7);

    /** The most bytes that a marker has. */
    static final int MAX_BYTES = 4096;

    private static final int FORMAT = 1;
    private static final String FORMAT_NAME = "format";
    private static final String WRITES_NAME = "conditionalWrites";
    private static final String DELETION_NAME = "conditionalDelete";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What the bytes of a marker are. */
    public sealed interface Parsed {
        /** A marker of this format. */
        record Known(CapabilityMarker marker) implements Parsed {}

        /** A marker of a format that is newer than this version of Granary: not to be overwritten. */
        record Newer() implements Parsed {}

        /** Not a marker. */
        record Broken() implements Parsed {}
    }

    /** The text of the object. */
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

    /** Reads an object, which may hold anything. */
    public static Parsed parse(byte[] bytes) {
        try {
            JsonNode node = JSON.readTree(bytes);
            if (node == null || !node.path(FORMAT_NAME).canConvertToInt()) {
                return new Parsed.Broken();
            }
            int format = node.path(FORMAT_NAME).intValue();
            if (format != FORMAT) {
                return format > FORMAT ? new Parsed.Newer() : new Parsed.Broken();
            }
            ConditionalWriteSupport writes = constant(ConditionalWriteSupport.values(), node.path(WRITES_NAME));
            ConditionalDeleteSupport deletion = constant(ConditionalDeleteSupport.values(), node.path(DELETION_NAME));
            return new Parsed.Known(new CapabilityMarker(writes, deletion, millis(node.path("probed").asText()), node.path("producer").asText()));
        } catch (IOException | RuntimeException e) { // whatever somebody has put there: no marker stops what would publish
            return new Parsed.Broken();
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
