package dev.granary.coordinator.config;

import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.toml.NearestName;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;
import dev.granary.s3.config.S3ClientLibrary;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** The sources of settings: code, the environment, then the configuration file that it names. */
final class ConfigSources {
    // the name under which users know the messages
    private static final Logger LOG = LoggerFactory.getLogger(GranaryConfig.class);
    private static final String FILE_VARIABLE = "GRANARY_CONFIG";
    private static final String SIGNING_KEY = "GRANARY_SIGNING_KEY";
    private static final String PREFIX = "GRANARY_";
    private static final String TEST_PREFIX = "GRANARY_TEST_";

    /** Variables that are no settings: the configuration file, and those of the launcher. */
    private static final List<String> OTHER_VARIABLES =
            List.of(FILE_VARIABLE, SIGNING_KEY, "GRANARY_JAVA_OPTIONS", "GRANARY_SERVER_CLASSPATH");

    /**
     * The unexpected token in a message of the parser, which may be an unquoted secret; the message
     * keeps its position.
     */
    private static final Pattern UNEXPECTED_TOKEN =
            Pattern.compile("Unexpected '.*', (?=expected)", Pattern.DOTALL);

    private final Map<String, Object> inCode;
    private final Map<String, String> environment;
    private final Optional<TomlTable> file;

    /**
     * Reads the configuration file.
     *
     * @param inCode the values that code has set, by the key of their setting, whose type each has
     */
    ConfigSources(Map<String, Object> inCode, Map<String, String> environment)
            throws ConfigException {
        this.inCode = inCode;
        this.environment = environment;
        reportUnknown(environment);
        this.file = findFile(environment);
    }

    /** Logs each unknown variable: it is ignored, and its writer expects an effect. */
    private static void reportUnknown(Map<String, String> environment) {
        List<String> known = new ArrayList<>(OTHER_VARIABLES);
        for (Setting<?> setting : Setting.ALL) {
            known.add(setting.environment());
        }
        for (String name : environment.keySet()) {
            if (name.startsWith(PREFIX) && !name.startsWith(TEST_PREFIX) && !known.contains(name)) {
                Warnings.warn(
                        LOG,
                        name,
                        "The environment variable " + SafeText.of(name) + " is unknown and ignored"
                                + NearestName.hint(name, known) + ".");
            }
        }
    }

    /** Returns the value of the first source that has the setting. */
    @SuppressWarnings("unchecked") // the builder sets values of the type of their setting
    <T> Optional<T> find(Setting<T> setting) throws ConfigException {
        Optional<T> found = Optional.ofNullable((T) inCode.get(setting.key()));
        if (found.isEmpty()) {
            found = inEnvironment(setting);
        }
        return found.isEmpty() ? inFile(setting) : found;
    }

    private <T> Optional<T> inEnvironment(Setting<T> setting) throws ConfigException {
        String text = environment.get(setting.environment());
        if (text == null || text.isBlank()) {
            return Optional.empty();
        }
        try {
            return Optional.of(
                    setting.parse(text, "The environment variable " + setting.environment()));
        } catch (ConfigException e) {
            if (setting != Setting.PRIMITIVE_CACHE_CAPACITY) {
                throw e;
            }
            LOG.warn("{} It is ignored.", e.getMessage()); // the program must start nevertheless
            return Optional.empty();
        }
    }

    /**
     * Returns the limits of constant tensors. Wrong parts in the environment are logged and
     * ignored; correct parts apply.
     */
    ConstantLimits constantLimits() throws ConfigException {
        Setting<ConstantLimits> setting = Setting.CONSTANT_TENSOR_CACHE_CAPACITY;
        ConstantLimits inEnvironment = ConstantLimits.parse(
                environment.getOrDefault(setting.environment(), ""),
                wrong -> Warnings.warn(
                        LOG,
                        wrong,
                        "The environment variable " + setting.environment() + " has '"
                                + SafeText.of(wrong) + "', but should be " + setting.expected()
                                + ". That is ignored."));
        return inEnvironment.orElse(inFile(setting).orElse(ConstantLimits.NONE));
    }

    /**
     * Returns the buckets in lookup order; none if no source names one.
     *
     * @param credentials the source of credentials that code has set
     */
    List<BucketConfig> buckets(Optional<Supplier<BucketCredentials>> credentials)
            throws ConfigException {
        Optional<URI> endpoint = find(Setting.ENDPOINT);
        S3ClientLibrary client = find(Setting.CLIENT).orElse(S3ClientLibrary.AWS);
        List<BucketConfig> layers = new ArrayList<>();
        Set<String> names = new HashSet<>();
        Map<String, Optional<PublicKey>> keys = trustedKeys();
        for (BucketUri each : find(Setting.BUCKET).orElse(List.of())) {
            BucketConfig layer = checked(() -> each.with(
                    endpoint, client, credentials, (place, rule) -> rule.policy(place, keys)));
            String conflict = layer instanceof BucketConfig.S3 bucket ? bucket.conflict() : "";
            if (!conflict.isEmpty()) {
                throw new ConfigException(
                        "The bucket " + layer.address() + " has " + conflict + ".");
            }
            if (!names.add(layer.name())) {
                throw new ConfigException("The bucket " + layer.name()
                        + " is named twice; name each once, in lookup order.");
            }
            layers.add(layer);
        }
        return layers;
    }

    /**
     * Returns the policy of the local tier.
     *
     * @param signer signs what this process compiles
     */
    TrustPolicy localTrust(Path directory, Optional<EntrySigner> signer) throws ConfigException {
        TrustRule rule = find(Setting.TRUST).orElse(TrustRule.OFF);
        Map<String, Optional<PublicKey>> keys = trustedKeys();
        TrustPolicy policy = checked(() -> rule.policy(directory.toString(), keys));
        if (policy.mode() == TrustPolicy.Mode.REQUIRE
                && !signer.filter(each -> policy.knows(each.name())).isPresent()) {
            throw new ConfigException(Setting.TRUST.environment() + "=require needs "
                    + SIGNING_KEY + " with the private key of one of the trusted keys that count:"
                    + " else nothing that this machine compiles is ever used again.");
        }
        return policy;
    }

    /** Returns the signer of the environment. A private key has no place in a file of settings. */
    Optional<EntrySigner> signer() throws ConfigException {
        String key = environment.getOrDefault(SIGNING_KEY, "");
        return key.isBlank()
                ? Optional.empty()
                : Optional.of(KeyTexts.signer(key, "The environment variable " + SIGNING_KEY));
    }

    /** Returns the public keys whose signatures may count, by name; empty for a revoked one. */
    Map<String, Optional<PublicKey>> trustedKeys() throws ConfigException {
        Optional<String> configured = find(Setting.TRUSTED_KEYS);
        if (configured.isPresent()) {
            return KeyTexts.trusted(configured.get(), "The setting trusted-keys");
        }
        Optional<Path> file = trustedKeysFile(environment);
        return file.filter(Files::exists).isPresent()
                ? KeyTexts.trusted(file.get().toString(), "The list of trusted keys")
                : Map.of();
    }

    /** Returns the usual file of trusted keys; empty if the user has no home. */
    static Optional<Path> trustedKeysFile(Map<String, String> environment) throws ConfigException {
        return homeOf(environment, "XDG_CONFIG_HOME", ".config")
                .map(home -> home.resolve("granary").resolve("trusted-keys"));
    }

    private static <T> T checked(Supplier<T> value) throws ConfigException {
        try {
            return value.get();
        } catch (IllegalArgumentException e) {
            throw new ConfigException(String.valueOf(e.getMessage()));
        }
    }

    /**
     * Returns the directory of the local tier. That of a user without a home is in the directory of
     * temporary files, in which each user has one of his own.
     */
    Path directory() throws ConfigException {
        Optional<Path> chosen = find(Setting.DIRECTORY);
        return chosen.isPresent()
                ? chosen.get()
                : homeOf(environment, "XDG_CACHE_HOME", ".cache")
                        .map(home -> home.resolve("granary"))
                        .orElseGet(() -> Path.of(System.getProperty("java.io.tmpdir")));
    }

    /**
     * Reads the file that the environment names, else the file at the default location; an absent
     * default file is empty.
     */
    private static Optional<TomlTable> findFile(Map<String, String> environment)
            throws ConfigException {
        String configured = environment.get(FILE_VARIABLE);
        if (configured != null && !configured.isBlank()) {
            return Optional.of(read(path(configured, FILE_VARIABLE)));
        }
        Optional<Path> defaultFile = homeOf(environment, "XDG_CONFIG_HOME", ".config")
                .map(home -> home.resolve("granary").resolve("config.toml"));
        return defaultFile.isPresent() && Files.exists(defaultFile.get())
                ? Optional.of(read(defaultFile.get()))
                : Optional.empty();
    }

    /** Reads a file. Unknown keys are mistakes. */
    private static TomlTable read(Path file) throws ConfigException {
        TomlTable parsed;
        try {
            parsed = TomlTable.read(file);
        } catch (TomlException e) {
            throw new ConfigException("The configuration file "
                    + UNEXPECTED_TOKEN
                            .matcher(String.valueOf(e.getMessage()))
                            .replaceFirst("Unexpected text, "));
        } catch (IOException e) {
            throw new ConfigException("The configuration file " + file + " cannot be read: "
                    + TomlException.reason(e)
                    + (e instanceof NoSuchFileException
                            ? "; create it, or correct " + FILE_VARIABLE
                            : "")
                    + ".");
        }
        List<String> known = Setting.ALL.stream().<String>map(Setting::key).toList();
        for (String key : parsed.keys()) {
            if (!known.contains(key)) {
                throw new ConfigException("The configuration file " + file
                        + " has the unknown key '" + SafeText.of(key) + "'; known are "
                        + String.join(", ", known) + NearestName.hint(key, known) + ".");
            }
        }
        return parsed;
    }

    /** Returns the value of a setting; empty if the file does not have it. */
    private <T> Optional<T> inFile(Setting<T> setting) throws ConfigException {
        Object value = file.map(table -> table.value(setting.key())).orElse(null);
        if (value == null) {
            return Optional.empty();
        }
        String place = file.get().file() + ": " + setting.key();
        if (setting.inFile().stream().noneMatch(type -> type.isInstance(value))) {
            throw setting.mistake(shown(value), place);
        }
        if (!(value instanceof List<?> list)) {
            return Optional.of(setting.parse(value.toString(), place));
        }
        for (Object each : list) {
            if (!(each instanceof String)) {
                throw setting.mistake(shown(each), place);
            }
        }
        return Optional.of(setting.parse(
                String.join(" ", list.stream().map(Object::toString).toList()), place));
    }

    private static Object shown(Object value) {
        return value instanceof TomlTable || value instanceof List ? "a table or list" : value;
    }

    /**
     * Returns the directory that {@code variable} names if it is absolute (the XDG Base Directory
     * Specification ignores all others), else {@code fallback} in the user's home. The result is
     * empty if the user has no home.
     */
    private static Optional<Path> homeOf(
            Map<String, String> environment, String variable, String fallback)
            throws ConfigException {
        String configured = environment.get(variable);
        if (configured != null && !configured.isBlank()) {
            Path home = path(configured, variable);
            if (home.isAbsolute()) {
                return Optional.of(home);
            }
        }
        String home = environment.get("HOME");
        if (home == null || home.isBlank() || !path(home, "HOME").isAbsolute()) {
            home = System.getProperty("user.home", ""); // "?" if unknown
        }
        Path known = path(home, "HOME");
        return known.isAbsolute() ? Optional.of(known.resolve(fallback)) : Optional.empty();
    }

    private static Path path(String text, String variable) throws ConfigException {
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new ConfigException("The environment variable " + variable + " is not a path: "
                    + e.getReason() + ".");
        }
    }
}
