package dev.granary.s3.probe;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.Strictness;

import dev.granary.s3.config.S3Config;

import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * Content of {@code granary.json}: the verdict of a probe, or the claim of the process that probes.
 *
 * @param format the format; the other fields of a newer one are empty
 * @param verdict the verdict; empty while a process probes
 * @param server the host of the endpoint, or {@link #AMAZON}
 * @param bucket the name of the bucket; a marker that was copied with its bucket names another one
 * @param nonce random name of the process that probes; empty with a verdict
 * @param probed time of the probe by the server's clock, for people; empty if it sent no date
 * @param producer the program that probes, such as {@code granary 0.1.0}, for people
 */
public record CapabilityMarker(
        int format,
        Optional<Verdict> verdict,
        String server,
        String bucket,
        String nonce,
        String probed,
        String producer) {
    /** Time for which a verdict is valid, from the write time of the object. */
    static final Duration TIME_TO_LIVE = Duration.ofDays(7);

    /** Maximum length of a marker, in bytes. */
    static final int MAX_BYTES = 4096;

    /** Server of buckets without an endpoint, and of Amazon's own endpoints. */
    static final String AMAZON = "Amazon S3";

    private static final int FORMAT = 2;
    private static final String PROBING = "probing";
    private static final String HONOURED = "HONOURED";
    private static final Gson JSON = new GsonBuilder()
            .setStrictness(Strictness.STRICT)
            .setPrettyPrinting()
            .disableHtmlEscaping()
            .create();

    /**
     * The capabilities of a server.
     *
     * @param writes the conditional writes that it supports
     * @param honoursConditionalDelete whether a deletion was seen to spare a stale version
     */
    public record Verdict(ConditionalWriteSupport writes, boolean honoursConditionalDelete) {}

    /**
     * Returns a marker with a verdict.
     *
     * @param probedMillis time of the probe in milliseconds since 1970; 0 if unknown
     */
    public static CapabilityMarker known(S3Config config, Verdict verdict, long probedMillis) {
        String probed =
                probedMillis == 0 ? "" : Instant.ofEpochMilli(probedMillis).toString();
        return of(config, Optional.of(verdict), "", probed);
    }

    /** Returns the marker of a process that probes. */
    static CapabilityMarker probing(S3Config config, String nonce) {
        return of(config, Optional.empty(), nonce, "");
    }

    private static CapabilityMarker of(
            S3Config config, Optional<Verdict> verdict, String nonce, String probed) {
        return new CapabilityMarker(
                FORMAT,
                verdict,
                server(config),
                config.location().bucket(),
                nonce,
                probed,
                config.producer());
    }

    private static String server(S3Config config) {
        String host = config.connection().endpoint().map(URI::getHost).orElse(AMAZON);
        return host.endsWith(".amazonaws.com") || host.endsWith(".amazonaws.com.cn")
                ? AMAZON
                : host;
    }

    /** Returns true if the bucket is on Amazon's own servers. */
    static boolean isAmazon(S3Config config) {
        return server(config).equals(AMAZON);
    }

    /** Returns true if a newer version of Granary wrote the marker: not to be overwritten. */
    boolean isNewer() {
        return format > FORMAT;
    }

    /** Returns true if the marker was written for this server and bucket. */
    boolean isOf(S3Config config) {
        return server.equals(server(config)) && bucket.equals(config.location().bucket());
    }

    /** Returns the content of the object. */
    public byte[] json() {
        JsonObject object = new JsonObject();
        object.addProperty("format", format);
        object.addProperty("state", verdict.isPresent() ? "known" : PROBING);
        verdict.ifPresent(known -> {
            object.addProperty("conditionalWrites", known.writes().name());
            object.addProperty(
                    "conditionalDelete",
                    known.honoursConditionalDelete() ? HONOURED : "NOT_HONOURED");
        });
        object.addProperty("server", server);
        object.addProperty("bucket", bucket);
        if (verdict.isPresent()) {
            object.addProperty("probed", probed);
        } else {
            object.addProperty("nonce", nonce);
        }
        object.addProperty("producer", producer);
        return (JSON.toJson(object) + "\n").getBytes(UTF_8);
    }

    /** Parses an object with arbitrary content; empty if it is no marker. */
    public static Optional<CapabilityMarker> parse(byte[] bytes) {
        try {
            JsonObject object = JSON.fromJson(new String(bytes, UTF_8), JsonObject.class);
            int format = object.get("format").getAsBigDecimal().intValueExact();
            if (format > FORMAT) {
                return Optional.of(
                        new CapabilityMarker(format, Optional.empty(), "", "", "", "", ""));
            }
            return format < FORMAT
                    ? Optional.empty()
                    : Optional.of(new CapabilityMarker(
                            format,
                            text(object, "state").equals(PROBING)
                                    ? Optional.empty()
                                    : Optional.of(verdict(object)),
                            text(object, "server"),
                            text(object, "bucket"),
                            text(object, "nonce"),
                            text(object, "probed"),
                            text(object, "producer")));
        } catch (RuntimeException e) { // arbitrary content: no marker may stop a publication
            return Optional.empty();
        }
    }

    private static Verdict verdict(JsonObject object) {
        return new Verdict(
                ConditionalWriteSupport.valueOf(text(object, "conditionalWrites")),
                text(object, "conditionalDelete").equals(HONOURED));
    }

    private static String text(JsonObject object, String name) {
        JsonElement value = object.get(name);
        return value == null || !value.isJsonPrimitive() ? "" : value.getAsString();
    }
}
