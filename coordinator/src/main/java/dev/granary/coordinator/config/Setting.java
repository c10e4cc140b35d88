package dev.granary.coordinator.config;

import dev.granary.s3.S3Client;
import dev.granary.s3.S3Location;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * One thing that can be configured: its names in the three places, and how its text is read.
 *
 * @param key the name in a configuration file and, with two dashes, on the command line
 * @param environment the environment variable
 * @param expected what a right value looks like, for messages
 * @param parser reads the text; throws {@link IllegalArgumentException} for a wrong one
 */
record Setting<T>(String key, String environment, String expected, Parser<T> parser) {
    static final Setting<S3Location> BUCKET =
            new Setting<>("bucket", "GRANARY_BUCKET", "s3://name or s3://name/prefix", S3Location::parse);
    static final Setting<URI> ENDPOINT =
            new Setting<>("endpoint", "GRANARY_S3_ENDPOINT", "an address such as http://127.0.0.1:9000", Setting::endpoint);
    static final Setting<S3Client> CLIENT = new Setting<>("client", "GRANARY_S3_CLIENT", "aws or minio", Setting::client);
    static final Setting<Path> DIRECTORY = new Setting<>("dir", "GRANARY_DIR", "a directory", Setting::path);
    static final Setting<Long> CAPACITY =
            new Setting<>("capacity", "GRANARY_CAPACITY", "a size such as 4GiB, 500MiB, or a number of MiB", Setting::size);
    static final Setting<Integer> PRIMITIVE_CACHE_CAPACITY = new Setting<>(
            "primitive-cache-capacity", "GRANARY_PRIMITIVE_CACHE_CAPACITY", "a number of primitives, 0 or more", Setting::count);

    /** All settings. */
    static final List<Setting<?>> ALL = List.of(BUCKET, ENDPOINT, CLIENT, DIRECTORY, CAPACITY, PRIMITIVE_CACHE_CAPACITY);

    /** Reads a text. */
    @FunctionalInterface
    interface Parser<T> {
        T parse(String text);
    }

    /** The value of {@code text}, which stands at {@code place}. */
    T parse(String text, String place) throws ConfigException {
        try {
            return parser.parse(text.strip());
        } catch (IllegalArgumentException e) {
            throw new ConfigException(place + " is '" + text + "', but should be " + expected + ".");
        }
    }

    private static S3Client client(String text) {
        return switch (text) {
            case "aws" -> S3Client.AWS;
            case "minio" -> S3Client.MINIO;
            default -> throw new IllegalArgumentException(text);
        };
    }

    private static URI endpoint(String text) {
        try {
            URI uri = new URI(text);
            if (uri.getHost() == null || !List.of("http", "https").contains(String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT))) {
                throw new IllegalArgumentException(text);
            }
            return uri;
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(text, e);
        }
    }

    private static Path path(String text) {
        if (text.isEmpty()) {
            throw new IllegalArgumentException("empty");
        }
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException(text, e);
        }
    }

    private static int count(String text) {
        int count = Integer.parseInt(text);
        if (count < 0) {
            throw new IllegalArgumentException(text);
        }
        return count;
    }

    private static long size(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        int digits = 0;
        while (digits < lower.length() && Character.isDigit(lower.charAt(digits))) {
            digits++;
        }
        long number = Long.parseLong(lower.substring(0, digits));
        int shift = switch (lower.substring(digits).strip()) {
            case "k", "kb", "kib" -> 10;
            case "", "m", "mb", "mib" -> 20;
            case "g", "gb", "gib" -> 30;
            case "t", "tb", "tib" -> 40;
            default -> throw new IllegalArgumentException(text);
        };
        if (number <= 0 || number > Long.MAX_VALUE >> shift) {
            throw new IllegalArgumentException(text);
        }
        return number << shift;
    }
}
