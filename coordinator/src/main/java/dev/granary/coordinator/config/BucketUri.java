package dev.granary.coordinator.config;

import dev.granary.cache.format.EntrySignature;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.s3.config.S3Access;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.store.ConnectionOption;

import java.net.URI;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Bucket or shared directory in a configuration text, such as
 * {@code s3://vendor/kernels?access=read&endpoint=https://s3.example.com} or
 * {@code file:///seed?access=read}. Omitted options come from the settings for all buckets.
 *
 * @param text the text, without blanks and commas
 */
record BucketUri(String text) {
    private static final String OPTIONS =
            "options such as ?access=read&endpoint=URL&region=NAME&client=minio&profile=NAME"
                    + "&trust=require, each once";
    private static final String DIRECTORY_OPTION =
            "access=read or access=read-write, and trust=require, as the only options of a file:"
                    + " address";
    /** A comma before the name of a key, without a scheme, is a part of {@code trust=}. */
    private static final Pattern SEPARATOR =
            Pattern.compile("(?:\\s|,(?!" + EntrySignature.NAME + "(?:[,&\\s]|$)))+");

    private static final Pattern NAME = Pattern.compile("[a-z][a-z-]{0,31}");
    private static final Pattern REGION = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");

    /**
     * Parses buckets that are separated by commas or blanks.
     *
     * @throws IllegalArgumentException if one is wrong, or there is none
     */
    static List<BucketUri> parseAll(String text) {
        List<BucketUri> layers =
                SEPARATOR.splitAsStream(text).map(BucketUri::new).toList();
        layers.forEach(
                layer -> // to check it
                layer.with(
                                Optional.empty(),
                                S3ClientLibrary.AWS,
                                Optional.empty(),
                                (_, _) -> TrustPolicy.OFF));
        return layers;
    }

    /**
     * Returns the configuration of this layer, with defaults for omitted options.
     *
     * @param policies returns the policy of a place by its rule
     * @throws IllegalArgumentException if the address or an option is wrong
     */
    BucketConfig with(
            Optional<URI> defaultEndpoint,
            S3ClientLibrary defaultClient,
            Optional<Supplier<BucketCredentials>> credentials,
            BiFunction<String, TrustRule, TrustPolicy> policies) {
        int mark = text.indexOf('?');
        String address = mark < 0 ? text : text.substring(0, mark);
        boolean isDirectory = address.startsWith(BucketConfig.Directory.SCHEME);
        S3Access access = S3Access.READ_WRITE;
        Optional<URI> endpoint = defaultEndpoint;
        Optional<String> region = Optional.empty();
        S3ClientLibrary client = defaultClient;
        TrustRule trust = TrustRule.OFF;
        Map<ConnectionOption, String> more = new HashMap<>();
        Set<String> seen = new HashSet<>();
        for (String option : mark < 0 ? new String[0] : text.substring(mark + 1).split("&", -1)) {
            int sign = option.indexOf('=');
            String name = option.substring(0, Math.max(0, sign));
            String value = option.substring(sign + 1);
            // without the value, of which a part may be a password
            String shown = NAME.matcher(name).matches() ? name + "=..." : "...";
            if (sign < 0 || !seen.add(name)) {
                throw new Setting.WrongPart(shown, OPTIONS);
            }
            if (isDirectory && !name.equals("access") && !name.equals("trust")) {
                throw new Setting.WrongPart(shown, DIRECTORY_OPTION);
            }
            switch (name) {
                case "access" -> {
                    if (!value.equals("read") && !value.equals("read-write")) {
                        throw new Setting.WrongPart(shown, "access=read or access=read-write");
                    }
                    access = value.equals("read") ? S3Access.READ : S3Access.READ_WRITE;
                }
                case "endpoint" -> endpoint = Optional.of(part(Setting.ENDPOINT, shown, value));
                case "client" -> client = part(Setting.CLIENT, shown, value);
                case "trust" -> trust = part(Setting.TRUST, shown, value);
                case "region" -> {
                    if (!REGION.matcher(value).matches()) {
                        throw new Setting.WrongPart(
                                shown, "the name of a region, such as region=eu-central-1");
                    }
                    region = Optional.of(value);
                }
                default -> {
                    ConnectionOption other = ConnectionOption.of(name)
                            .orElseThrow(() -> new Setting.WrongPart(shown, OPTIONS));
                    if (!other.accepts(value)) {
                        throw new Setting.WrongPart(shown, other.expected());
                    }
                    more.put(other, value);
                }
            }
        }
        TrustPolicy policy = policies.apply(address, trust);
        return isDirectory
                ? new BucketConfig.Directory(
                        Path.of(URI.create(address)).normalize(),
                        access == S3Access.READ_WRITE,
                        policy)
                : new BucketConfig.S3(
                        S3Location.parse(address),
                        access,
                        endpoint,
                        region,
                        client,
                        credentials,
                        policy,
                        Map.copyOf(more));
    }

    private static <T> T part(Setting<T> setting, String option, String value) {
        try {
            return setting.parser().apply(value);
        } catch (IllegalArgumentException e) {
            throw new Setting.WrongPart(option, setting.key() + "= with " + setting.expected());
        }
    }
}
