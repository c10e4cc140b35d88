package dev.granary.coordinator.config;

import dev.granary.coordinator.toml.SafeText;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Location;

import org.jspecify.annotations.Nullable;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Bucket or shared directory in a configuration text, such as
 * {@code s3://vendor/kernels?access=read&endpoint=https://s3.example.com} or
 * {@code file:///seed?access=read}. Omitted options come from the settings for all buckets.
 */
final class BucketUri {
    private static final String OPTIONS =
            "options such as ?access=read&endpoint=URL&region=NAME&client=minio, each once";
    private static final String DIRECTORY =
            "file:///PATH, an absolute path without a host, with %20 for a blank";
    private static final String DIRECTORY_OPTION =
            "access=read or access=read-write as the only option of a file: address";
    private static final Pattern SEPARATOR = Pattern.compile("[\\s,]+");
    private static final Pattern NAME = Pattern.compile("[a-z][a-z-]{0,31}");
    // no access key is so short
    private static final Pattern SHORT = Pattern.compile("[A-Za-z0-9_.:/-]{0,16}");
    private static final Set<String> KNOWN_WORDS =
            Set.of("access", "read", "read-write", "endpoint", "region", "client", "aws", "minio");
    private static final Pattern REGION = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");

    private final @Nullable S3Location location;
    private final @Nullable Path directory; // one of the two
    private S3Access access = S3Access.READ_WRITE;
    private @Nullable URI endpoint;
    private @Nullable String region;
    private @Nullable S3ClientLibrary client;

    private BucketUri(String address, boolean hasUser) {
        boolean isDirectory = address.startsWith(BucketConfig.Directory.SCHEME);
        this.location = isDirectory ? null : S3Location.parse(address);
        this.directory = isDirectory ? directory(address, hasUser) : null;
    }

    private static Path directory(String address, boolean hasUser) {
        try {
            return Path.of(URI.create(address)).normalize();
        } catch (IllegalArgumentException e) { // also of a host, or a relative path
            throw new Setting.WrongPart(
                    hasUser ? BucketConfig.Directory.SCHEME + "..." : SafeText.of(address),
                    DIRECTORY);
        }
    }

    /**
     * Parses buckets that are separated by commas or blanks.
     *
     * @throws IllegalArgumentException if one is wrong, or there is none
     */
    static List<BucketUri> parseAll(String text) {
        List<BucketUri> layers = new ArrayList<>();
        boolean hasUser = text.indexOf('@') >= 0;
        for (String each : SEPARATOR.split(text)) {
            layers.add(parse(each, hasUser));
        }
        return List.copyOf(layers);
    }

    private static BucketUri parse(String text, boolean hasUser) {
        int mark = text.indexOf('?');
        BucketUri layer = new BucketUri(mark < 0 ? text : text.substring(0, mark), hasUser);
        if (mark >= 0) {
            Set<String> seen = new HashSet<>();
            for (String option : text.substring(mark + 1).split("&", -1)) {
                int sign = option.indexOf('=');
                if (sign < 0 || !seen.add(option.substring(0, sign))) {
                    throw new Setting.WrongPart(redacted(option, hasUser), OPTIONS);
                }
                layer.set(
                        redacted(option, hasUser),
                        option.substring(0, sign),
                        option.substring(sign + 1));
            }
        }
        return layer;
    }

    /**
     * Returns an option for messages, without the value if the name is unknown.
     *
     * @param hasUser true if the whole text has an {@code @}: a separator may have split a
     *     password, of which digits before it look like a port
     */
    private static String redacted(String option, boolean hasUser) {
        int sign = option.indexOf('=');
        String name = sign < 0 ? option : option.substring(0, sign);
        if (sign < 0) {
            return option.isEmpty() || KNOWN_WORDS.contains(option) ? option : "...";
        }
        String value = option.substring(sign + 1);
        boolean isHarmless =
                switch (name) {
                    case "access", "client", "region" -> SHORT.matcher(value).matches();
                    case "endpoint" -> !hasUser && isWithoutUser(value);
                    default -> false;
                };
        return (NAME.matcher(name).matches() ? name : "...") + "="
                + (isHarmless ? SafeText.of(value) : "...");
    }

    /** Returns true if an endpoint is complete and has no user. */
    private static boolean isWithoutUser(String value) {
        try {
            URI uri = new URI(value);
            return uri.getHost() != null && uri.getRawUserInfo() == null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    /**
     * Sets an option.
     *
     * @param option the option for messages
     */
    private void set(String option, String name, String value) {
        if (directory != null && !name.equals("access")) {
            throw new Setting.WrongPart(option, DIRECTORY_OPTION);
        }
        switch (name) {
            case "access" ->
                access = switch (value) {
                    case "read" -> S3Access.READ;
                    case "read-write" -> S3Access.READ_WRITE;
                    default ->
                        throw new Setting.WrongPart(option, "access=read or access=read-write");
                };
            case "endpoint" -> endpoint = part(Setting.ENDPOINT, option, value);
            case "client" -> client = part(Setting.CLIENT, option, value);
            case "region" -> {
                if (!REGION.matcher(value).matches()) {
                    throw new Setting.WrongPart(
                            option, "the name of a region, such as region=eu-central-1");
                }
                region = value;
            }
            default -> throw new Setting.WrongPart(option, OPTIONS);
        }
    }

    private static <T> T part(Setting<T> setting, String option, String value) {
        try {
            return setting.parser().parse(value);
        } catch (IllegalArgumentException e) {
            throw new Setting.WrongPart(option, setting.key() + "= with " + setting.expected());
        }
    }

    /** Returns the configuration of this layer, with defaults for omitted options. */
    BucketConfig with(Optional<URI> defaultEndpoint, S3ClientLibrary defaultClient) {
        if (directory != null) {
            return new BucketConfig.Directory(directory, access == S3Access.READ_WRITE);
        }
        return new BucketConfig.S3(
                Objects.requireNonNull(location),
                access,
                endpoint == null ? defaultEndpoint : Optional.of(endpoint),
                Optional.ofNullable(region),
                client == null ? defaultClient : client);
    }
}
