package dev.granary.s3.contract;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLDecoder;
import java.util.Arrays;
import java.util.Optional;

/**
 * One request as a test server receives it.
 *
 * @param number its number among all requests to that server, from 0
 * @param operation the method and its variant: {@code GET}, {@code GET range}, {@code HEAD},
 *     {@code PUT}, {@code PUT none-match}, {@code PUT match}, {@code DELETE}, {@code DELETE match},
 *     {@code LIST}
 * @param key the key of the object; for a listing, the prefix
 */
public record S3Request(int number, String operation, String key) {
    /** Parses a request with path-style addressing. */
    static S3Request of(int number, HttpMessage message) {
        String[] line = message.firstLine().split(" ", 3);
        String[] target = line[1].split("\\?", 2);
        String[] path = target[0].split("/", 3); // "", bucket, key
        String key = path.length < 3 ? "" : decoded(path[2]);
        if (line[0].equals("GET") && key.isEmpty()) {
            String query = target.length < 2 ? "" : target[1];
            Optional<String> prefix = Arrays.stream(query.split("&"))
                    .filter(part -> part.startsWith("prefix="))
                    .findFirst();
            return new S3Request(
                    number,
                    "LIST",
                    prefix.map(part -> decoded(part.substring("prefix=".length())))
                            .orElse(""));
        }
        String condition = message.header("If-None-Match").isPresent()
                ? " none-match"
                : message.header("If-Match").isPresent()
                        ? " match"
                        : message.header("Range").isPresent() ? " range" : "";
        return new S3Request(number, line[0] + condition, key);
    }

    private static String decoded(String part) {
        return URLDecoder.decode(part.replace("+", "%2B"), UTF_8);
    }

    /** Returns true for {@code GET} and {@code HEAD} of an object or a range of it. */
    public boolean isRead() {
        return operation.startsWith("GET") || operation.equals("HEAD");
    }
}
