package dev.granary.coordinator.config;

import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.coordinator.config.GranaryConfig.EnabledEngines;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.s3.config.S3ClientLibrary;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * A setting: its names in the three sources, and its parser.
 *
 * @param key the name in a configuration file and, with two dashes, on the command line
 * @param environment the environment variable
 * @param inFile the TOML types that it may have in a file
 * @param expected the description of correct values, for messages
 * @param parser parses the text; throws {@link IllegalArgumentException} if it is wrong
 */
record Setting<T>(
        String key,
        String environment,
        Set<Class<?>> inFile,
        String expected,
        Function<String, T> parser) {
    private static final Set<Class<?>> TEXT = Set.of(String.class);
    private static final Set<Class<?>> TEXT_OR_LIST = Set.of(String.class, List.class);
    private static final Set<Class<?>> TEXT_OR_BOOLEAN = Set.of(String.class, Boolean.class);
    private static final Set<Class<?>> TEXT_OR_NUMBER = Set.of(String.class, Long.class);

    static final Setting<List<BucketUri>> BUCKET = new Setting<>(
            "bucket",
            TEXT_OR_LIST,
            "s3://name or s3://name/prefix; a name has 3 to 63 lower-case letters, digits, dots"
                    + " and dashes; or file:///PATH, an absolute path without a host, with %20 for"
                    + " a blank",
            BucketUri::parseAll);
    static final Setting<URI> ENDPOINT = new Setting<>(
            "endpoint",
            "GRANARY_S3_ENDPOINT",
            TEXT,
            "an address such as http://127.0.0.1:9000, without user and password, and without a"
                    + " query",
            Setting::endpoint);
    static final Setting<S3ClientLibrary> CLIENT = new Setting<>(
            "client",
            "GRANARY_S3_CLIENT",
            TEXT,
            "aws or minio",
            text -> constant(S3ClientLibrary.class, text));
    static final Setting<TrustRule> TRUST =
            new Setting<>("trust", TEXT, TrustRule.FORM, TrustRule::parse);
    static final Setting<String> TRUSTED_KEYS = new Setting<>(
            "trusted-keys",
            TEXT_OR_LIST,
            "public keys such as ci-2026:MCowBQYDK2VwAyEA..., or a file of them",
            Function.identity());
    static final Setting<Path> DIRECTORY = new Setting<>(
            "dir", TEXT, "a directory without ~, which only a shell expands", Setting::path);
    static final Setting<Long> CAPACITY = new Setting<>(
            "capacity",
            TEXT_OR_NUMBER,
            "a size such as 4GiB, 500MiB, or a number of MiB; 0 stores nothing on disk",
            Setting::size);
    static final Setting<EvictionPolicy> EVICTION = new Setting<>(
            "eviction",
            TEXT,
            "lru (evicts the least recently used first) or fifo (evicts the first stored first)",
            text -> constant(EvictionPolicy.class, text));
    static final Setting<Integer> PRIMITIVE_CACHE_CAPACITY = new Setting<>(
            "primitive-cache-capacity",
            TEXT_OR_NUMBER,
            "a number of primitives, 0 or more",
            Setting::count);
    static final Setting<Duration> CLAIM_WAIT = new Setting<>(
            "claim-wait",
            TEXT_OR_NUMBER,
            "a time such as 60s, 500ms, 2m, or a number of seconds; 0: never wait",
            Setting::time);
    static final Setting<Duration> BUCKET_WAIT = new Setting<>(
            "bucket-wait",
            TEXT_OR_NUMBER,
            "a time such as 4s, 500ms, 1m, or a number of seconds",
            Setting::time);
    static final Setting<ConstantLimits> CONSTANT_TENSOR_CACHE_CAPACITY = new Setting<>(
            "constant-tensor-cache-capacity", TEXT, ConstantLimits.FORM, Setting::constantLimits);
    static final Setting<Path> RECORDING = new Setting<>(
            "record", TEXT, "a file without ~, which only a shell expands", Setting::path);

    static final Setting<EnabledEngines> ENABLED =
            new Setting<>("enabled", TEXT_OR_BOOLEAN, EnabledEngines.FORM, EnabledEngines::parse);

    static final Duration MAX_DURATION = Duration.ofDays(365);

    static final List<Setting<?>> ALL = List.of(
            BUCKET,
            ENDPOINT,
            CLIENT,
            DIRECTORY,
            CAPACITY,
            EVICTION,
            TRUST,
            TRUSTED_KEYS,
            PRIMITIVE_CACHE_CAPACITY,
            CONSTANT_TENSOR_CACHE_CAPACITY,
            CLAIM_WAIT,
            BUCKET_WAIT,
            RECORDING,
            ENABLED);

    /** Creates a setting with the environment variable of its key. */
    Setting(String key, Set<Class<?>> inFile, String expected, Function<String, T> parser) {
        this(
                key,
                "GRANARY_" + key.replace('-', '_').toUpperCase(Locale.ROOT),
                inFile,
                expected,
                parser);
    }

    /** Thrown for a wrong part of a text that messages show as it is. */
    static final class WrongPart extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;

        private final String part;
        private final String expected;

        WrongPart(String part, String expected) {
            super(expected);
            this.part = part;
            this.expected = expected;
        }
    }

    /**
     * Parses {@code text}.
     *
     * @param place the place of the text, for messages
     */
    T parse(String text, String place) throws ConfigException {
        try {
            return parser.apply(text.strip());
        } catch (WrongPart e) {
            throw new ConfigException(
                    place + " has '" + e.part + "', but should have " + e.expected + ".");
        } catch (IllegalArgumentException e) {
            throw mistake(text, place);
        }
    }

    /** Returns an exception for the wrong {@code value} at {@code place}. */
    ConfigException mistake(Object value, String place) {
        return new ConfigException(place + " is '" + SafeText.of(value.toString())
                + "', but should be " + expected + ".");
    }

    private static <E extends Enum<E>> E constant(Class<E> type, String text) {
        return Arrays.stream(type.getEnumConstants())
                .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(text))
                .findAny()
                .orElseThrow(() -> new IllegalArgumentException(text));
    }

    private static URI endpoint(String text) {
        try {
            URI uri = new URI(text);
            if (uri.getHost() == null
                    || uri.getPort() > 65_535
                    || uri.getUserInfo() != null
                    || uri.getQuery() != null
                    || uri.getFragment() != null
                    || !List.of("http", "https")
                            .contains(String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT))) {
                throw new IllegalArgumentException(text);
            }
            return uri;
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(text, e);
        }
    }

    private static Path path(String text) {
        if (text.isEmpty() || text.equals("~") || text.startsWith("~/")) {
            throw new IllegalArgumentException(text);
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

    private static ConstantLimits constantLimits(String text) {
        List<String> mistakes = new ArrayList<>();
        ConstantLimits limits = ConstantLimits.parse(text, mistakes::add);
        if (!mistakes.isEmpty()) {
            throw new WrongPart(SafeText.of(String.join(";", mistakes)), ConstantLimits.FORM);
        }
        return limits;
    }

    private static Duration time(String text) {
        return Duration.ofMillis(scaled(
                text,
                unit -> switch (unit) {
                    case "ms" -> 1;
                    case "", "s" -> 1_000;
                    case "m", "min" -> 60_000;
                    case "h" -> 3_600_000;
                    default -> 0;
                },
                MAX_DURATION.toMillis()));
    }

    private static long size(String text) {
        return scaled(
                text,
                unit -> switch (unit) {
                    case "k", "kb", "kib" -> 1L << 10;
                    case "", "m", "mb", "mib" -> 1L << 20;
                    case "g", "gb", "gib" -> 1L << 30;
                    case "t", "tb", "tib" -> 1L << 40;
                    default -> 0;
                },
                Long.MAX_VALUE);
    }

    /**
     * Parses a number with a unit.
     *
     * @param factor returns the factor of a unit; 0 if there is no such unit
     */
    private static long scaled(String text, ToLongFunction<String> factor, long max) {
        int digits = 0;
        while (digits < text.length() && Character.isDigit(text.charAt(digits))) {
            digits++;
        }
        long number = Long.parseLong(text.substring(0, digits));
        long scale = factor.applyAsLong(text.substring(digits).strip().toLowerCase(Locale.ROOT));
        if (scale == 0 || number > max / scale) {
            throw new IllegalArgumentException(text);
        }
        return number * scale;
    }
}
