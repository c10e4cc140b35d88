package dev.granary.coordinator.config;

import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.coordinator.config.GranaryConfig.EnabledEngines;
import dev.granary.local.LocalTierConfig;
import dev.granary.local.PrivateSubdirectory;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Builder of a {@link GranaryConfig}. Values that are not set come from the environment, the file
 * or the defaults. Not thread-safe.
 */
public final class GranaryConfigBuilder {
    private Map<String, String> environment;
    private final List<BucketUri> buckets = new ArrayList<>();
    private final Map<String, Object> inCode = new HashMap<>(); // by the key of the setting
    private Duration flushLimit = GranaryConfig.DEFAULT_FLUSH_LIMIT;
    private ConstantLimits constantLimits = ConstantLimits.NONE;
    private Optional<Supplier<BucketCredentials>> credentials = Optional.empty();
    private Optional<EntrySigner> key = Optional.empty();
    private boolean isOffline;

    GranaryConfigBuilder(Map<String, String> environment) {
        this.environment = environment;
    }

    /** Sets the environment to read; default: that of this process. */
    public GranaryConfigBuilder environment(Map<String, String> variables) {
        environment = Map.copyOf(variables);
        return this;
    }

    /**
     * Adds a shared bucket after those that were added, such as {@code s3://name/prefix}; default:
     * none. Options such as access, endpoint, profile and client follow a question mark:
     * {@code s3://vendor/kernels?access=read&endpoint=https://s3.example.com&client=minio}. Several
     * buckets are separated by commas or blanks. {@code file:///path} is a directory that machines
     * share, with the option access only.
     */
    public GranaryConfigBuilder bucket(String address) throws ConfigException {
        buckets.addAll(Setting.BUCKET.parse(address, "The bucket"));
        return set(Setting.BUCKET, buckets);
    }

    /** Uses no bucket, even if the environment or the file names some. */
    public GranaryConfigBuilder offline() {
        isOffline = true;
        return this;
    }

    /**
     * Sets the address of the object store for buckets without an endpoint, with {@code http} or
     * {@code https}; default: Amazon's.
     */
    public GranaryConfigBuilder endpoint(String address) throws ConfigException {
        return set(Setting.ENDPOINT, Setting.ENDPOINT.parse(address, "The endpoint"));
    }

    /**
     * Sets the credentials of buckets without the option profile or credentials; default: those
     * that the AWS SDK's usual chain finds.
     *
     * @param source returns the credentials of a request, on any thread; may return others each
     *     time. An exception of it is a failed request
     */
    public GranaryConfigBuilder credentials(Supplier<BucketCredentials> source) {
        credentials = Optional.of(source);
        return this;
    }

    /**
     * Sets the client library for buckets without one, {@code aws} or {@code minio}; default:
     * {@code aws}.
     */
    public GranaryConfigBuilder client(String name) throws ConfigException {
        return set(Setting.CLIENT, Setting.CLIENT.parse(name, "The client"));
    }

    /**
     * Sets the directory of the local tier; default: {@code granary} under {@code XDG_CACHE_HOME}
     * or {@code ~/.cache}. In a volume that others can write, a private subdirectory
     * {@code granary-<uid>} is used.
     */
    public GranaryConfigBuilder directory(Path path) {
        return set(Setting.DIRECTORY, path);
    }

    /** Sets the directory of the local tier from a configuration text. */
    public GranaryConfigBuilder directory(String path) throws ConfigException {
        return directory(Setting.DIRECTORY.parse(path, "The directory"));
    }

    /**
     * Sets the capacity of the local tier, such as {@code 4GiB}, or a number of MiB; default: 4
     * GiB. With 0 nothing is stored on disk: the directory is neither read nor written nor created,
     * and files of others there remain.
     */
    public GranaryConfigBuilder capacity(String size) throws ConfigException {
        return set(Setting.CAPACITY, Setting.CAPACITY.parse(size, "The capacity"));
    }

    /** Sets the eviction policy of the local tier; default: least recently used. */
    public GranaryConfigBuilder eviction(EvictionPolicy policy) {
        return set(Setting.EVICTION, policy);
    }

    /**
     * Sets the largest number of primitives in memory, 0 for none; default:
     * {@value PrimitiveCache#DEFAULT_CAPACITY}.
     *
     * @throws ConfigException if negative
     */
    public GranaryConfigBuilder primitiveCacheCapacity(int primitives) throws ConfigException {
        Setting<Integer> setting = Setting.PRIMITIVE_CACHE_CAPACITY;
        return set(
                setting,
                setting.parse(Integer.toString(primitives), "The capacity of the primitive cache"));
    }

    /**
     * Sets the longest wait of a lookup for another process of this machine that compiles the same
     * id; after it the lookup compiles, too. Zero: lookups neither wait nor claim. Default: 60
     * seconds.
     *
     * @throws ConfigException if negative, or longer than a year
     */
    public GranaryConfigBuilder claimWait(Duration limit) throws ConfigException {
        return set(Setting.CLAIM_WAIT, checked(limit, "The claim wait"));
    }

    /**
     * Sets the initial time budget of the lookups of this process for each bucket; if it is used
     * up, they skip the bucket and compile. The budget is at least 4 % of the time spent compiling.
     * Default: 1.8 seconds.
     *
     * @throws ConfigException if negative, or longer than a year
     */
    public GranaryConfigBuilder bucketWait(Duration limit) throws ConfigException {
        return set(Setting.BUCKET_WAIT, checked(limit, "The bucket wait"));
    }

    /**
     * Sets the memory for constant tensors on each device of a kind; default: no limit. A kind that
     * is not set comes from the environment, the file or the default.
     */
    public GranaryConfigBuilder constantTensorCacheCapacity(EngineKind kind, Limit limit) {
        constantLimits = new ConstantLimits(Map.of(kind, limit)).orElse(constantLimits);
        return this;
    }

    /**
     * Records the kernels of this process: adds each kernel that it obtains to the kernel manifest
     * {@code file}, with sources and headers in {@code file.d}. Several processes may record to one
     * file. Default: none.
     */
    public GranaryConfigBuilder record(Path file) {
        return set(Setting.RECORDING, file);
    }

    /** Records to a file from a configuration text. */
    public GranaryConfigBuilder record(String file) throws ConfigException {
        return record(Setting.RECORDING.parse(file, "The recording"));
    }

    /**
     * Sets the engines whose primitives are cached beyond the memory of the process; default: all.
     * {@code Granary.setEnabled} changes them at run time.
     *
     * @param text {@code on}, {@code off}, or parts such as {@code opencl.cpu:off}, separated by
     *     semicolons
     */
    public GranaryConfigBuilder enabled(String text) throws ConfigException {
        return set(Setting.ENABLED, Setting.ENABLED.parse(text, "The setting enabled"));
    }

    /**
     * Sets which signatures of entries in the local directory count: {@code off} (the default),
     * {@code warn} or {@code require}, which may name keys, such as {@code require:ci-2026}. Layers
     * have their own, as the option {@code trust} of their address.
     */
    public GranaryConfigBuilder trust(String rule) throws ConfigException {
        return set(Setting.TRUST, Setting.TRUST.parse(rule, "The trust"));
    }

    /**
     * Sets the public keys whose signatures may count, or the path of a file of them; default: the
     * file {@code granary/trusted-keys} beside the configuration file, if it exists.
     */
    public GranaryConfigBuilder trustedKeys(String keys) {
        return set(Setting.TRUSTED_KEYS, keys);
    }

    /**
     * Signs what this process compiles with a private key; default: none.
     *
     * @param text the text of the key, or the path of its file, which others may not read
     */
    public GranaryConfigBuilder signingKey(String text) throws ConfigException {
        key = Optional.of(KeyTexts.signer(text, "The signing key"));
        return this;
    }

    /** Returns the usual file of trusted keys; empty if the user has no home. */
    public Optional<Path> trustedKeysFile() throws ConfigException {
        return ConfigSources.trustedKeysFile(environment);
    }

    /**
     * Sets the longest wait of {@code close} for uploads; default: 5 seconds.
     *
     * @throws ConfigException if negative, or longer than a year
     */
    public GranaryConfigBuilder flushLimit(Duration limit) throws ConfigException {
        flushLimit = checked(limit, "The flush limit");
        return this;
    }

    /**
     * Returns the configuration.
     *
     * @throws ConfigException if a value in the environment or the file is wrong
     */
    public GranaryConfig build() throws ConfigException {
        ConfigSources sources = new ConfigSources(inCode, environment);
        Path directory = sources.directory();
        Optional<EntrySigner> signer = key.isPresent() ? key : sources.signer();
        long capacity =
                sources.find(Setting.CAPACITY).orElse(LocalTierConfig.DEFAULT_CAPACITY_BYTES);
        return new GranaryConfig(
                isOffline ? List.of() : sources.buckets(credentials),
                capacity == 0 ? directory : PrivateSubdirectory.resolve(directory),
                capacity,
                sources.find(Setting.EVICTION).orElse(EvictionPolicy.LRU),
                sources.find(Setting.PRIMITIVE_CACHE_CAPACITY)
                        .orElse(PrimitiveCache.DEFAULT_CAPACITY),
                sources.find(Setting.CLAIM_WAIT).orElse(GranaryConfig.DEFAULT_CLAIM_WAIT),
                sources.find(Setting.BUCKET_WAIT).orElse(GranaryConfig.DEFAULT_BUCKET_WAIT),
                flushLimit,
                constantLimits.orElse(sources.constantLimits()),
                sources.find(Setting.RECORDING),
                sources.find(Setting.ENABLED).orElse(EnabledEngines.ALL),
                sources.localTrust(directory, signer),
                sources.trustedKeys(),
                signer);
    }

    private <T> GranaryConfigBuilder set(Setting<T> setting, T value) {
        inCode.put(setting.key(), value);
        return this;
    }

    private static Duration checked(Duration wait, String name) throws ConfigException {
        if (wait.isNegative() || wait.compareTo(Setting.MAX_DURATION) > 0) {
            throw new ConfigException(name + " is " + wait + ", but should be from 0 to a year.");
        }
        return wait;
    }
}
