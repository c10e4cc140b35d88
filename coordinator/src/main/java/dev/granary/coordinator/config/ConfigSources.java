package dev.granary.coordinator.config;

import dev.granary.cache.constant.ConstantLimits;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.s3.config.S3ClientLibrary;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The sources of settings beside code: the environment, then the configuration file that it names.
 */
final class ConfigSources {
    // the name under which users know the messages
    private static final Logger LOG = LoggerFactory.getLogger(GranaryConfig.class);
    private static final Set<String> REPORTED_MISTAKES = ConcurrentHashMap.newKeySet();

    private final Map<String, String> environment;
    private final ConfigFile file;

    ConfigSources(Map<String, String> environment) throws ConfigException {
        this.environment = environment;
        this.file = ConfigFile.find(environment);
    }

    /** Returns {@code inCode}, else the value of the first source that has the setting, or null. */
    <T> @Nullable T first(@Nullable T inCode, Setting<T> setting) throws ConfigException {
        if (inCode != null) {
            return inCode;
        }
        T found = inEnvironment(setting);
        return found != null ? found : file.value(setting);
    }

    /**
     * Returns the value of a setting whose wrong values in the environment are ignored: they must
     * not keep a program from starting.
     */
    <T> T lenient(@Nullable T inCode, Setting<T> setting, T fallback) throws ConfigException {
        T chosen = inCode;
        if (chosen == null) {
            try {
                chosen = inEnvironment(setting);
            } catch (ConfigException e) {
                LOG.warn("{} It is ignored.", e.getMessage());
            }
        }
        if (chosen == null) {
            chosen = file.value(setting);
        }
        return chosen == null ? fallback : chosen;
    }

    /**
     * Returns the limits of constant tensors. Wrong parts in the environment are ignored and logged
     * once; correct parts apply.
     */
    ConstantLimits constantLimits() throws ConfigException {
        Setting<ConstantLimits> setting = Setting.CONSTANT_TENSOR_CACHE_CAPACITY;
        ConstantLimits.Parsed inEnvironment =
                ConstantLimits.parse(environment.getOrDefault(setting.environment(), ""));
        if (!inEnvironment.mistakes().isEmpty()) {
            String wrong = String.join(
                    "' and '",
                    inEnvironment.mistakes().stream().map(SafeText::of).toList());
            if (REPORTED_MISTAKES.add(wrong)) {
                LOG.warn(
                        "The environment variable {} has '{}', but should be {}. That is"
                                + " ignored.",
                        setting.environment(),
                        wrong,
                        setting.expected());
            }
        }
        ConstantLimits inFile = file.value(setting);
        return inEnvironment.limits().orElse(inFile == null ? ConstantLimits.NONE : inFile);
    }

    /**
     * Returns the buckets in lookup order; none if no source names one.
     *
     * @param inCode the buckets that code has set; none if it is empty
     * @param endpoint the endpoint for buckets without one, if code has set it
     * @param client the client library for buckets without one, if code has set it
     */
    List<BucketConfig> buckets(
            List<BucketUri> inCode, @Nullable URI endpoint, @Nullable S3ClientLibrary client)
            throws ConfigException {
        List<BucketUri> configured = first(inCode.isEmpty() ? null : inCode, Setting.BUCKET);
        Optional<URI> defaultEndpoint = Optional.ofNullable(first(endpoint, Setting.ENDPOINT));
        S3ClientLibrary chosenClient = first(client, Setting.CLIENT);
        List<BucketConfig> layers = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (BucketUri each : configured == null ? List.<BucketUri>of() : configured) {
            BucketConfig layer = each.with(
                    defaultEndpoint, chosenClient == null ? S3ClientLibrary.AWS : chosenClient);
            if (!names.add(layer.name())) {
                throw new ConfigException("The bucket " + layer.name()
                        + " is named twice; name each once, in lookup order.");
            }
            layers.add(layer);
        }
        return layers;
    }

    /** Returns the directory of the local tier if no source names one. */
    Path defaultDirectory() throws ConfigException {
        return ConfigFile.homeOf(environment, "XDG_CACHE_HOME", ".cache")
                .orElseThrow(() ->
                        new ConfigException("This user has no home directory for the cache; set "
                                + Setting.DIRECTORY.environment() + " or XDG_CACHE_HOME."))
                .resolve("granary");
    }

    private <T> @Nullable T inEnvironment(Setting<T> setting) throws ConfigException {
        String text = environment.get(setting.environment());
        return text == null || text.isBlank()
                ? null
                : setting.parse(text, "The environment variable " + setting.environment());
    }
}
