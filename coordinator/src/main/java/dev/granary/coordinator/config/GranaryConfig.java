package dev.granary.coordinator.config;

import dev.granary.cache.constant.ConstantLimit;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantPolicy;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.cache.memory.PrimitiveCachePolicy;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.config.NetworkFileSystemPolicy;
import dev.granary.s3.config.S3ClientLibrary;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How Granary works in this process. Immutable.
 *
 * <p>Each value comes from the first place that has it: code (the {@link Builder}, or the command line), the environment, the configuration
 * file, the default. The file is TOML; it is the one named by {@code GRANARY_CONFIG}, else {@code granary/config.toml} under
 * {@code XDG_CONFIG_HOME} (default {@code ~/.config}), if it exists.
 *
 * @param buckets the shared buckets, in the order in which they are asked; empty: none
 * @param directory the local tier's directory
 * @param capacityBytes the local tier's limit, in bytes; 0: there is no local tier, and its directory is not touched
 * @param eviction which entries leave the local tier first
 * @param networkDirectory what becomes of a directory on a network file system
 * @param primitiveCacheCapacity how many primitives are kept in memory
 * @param primitiveCachePolicy which primitives leave when that many are there
 * @param localWait how long a look-up waits for another process of this machine that is compiling the same; zero: not at all
 * @param bucketWait how long look-ups wait for one bucket in vain, in all, before they skip it
 * @param flushLimit how long {@code close} waits for uploads; what is left is uploaded by the next process
 * @param constantLimits how much memory each device keeps constant tensors in, for the kinds of engine for which that was chosen
 */
public record GranaryConfig(
        List<BucketConfig> buckets,
        Path directory,
        long capacityBytes,
        EvictionPolicy eviction,
        NetworkFileSystemPolicy networkDirectory,
        int primitiveCacheCapacity,
        PrimitiveCachePolicy primitiveCachePolicy,
        Duration localWait,
        Duration bucketWait,
        Duration flushLimit,
        ConstantLimits constantLimits) {
    /** The local tier's limit where nobody chose one: 4 GiB. */
    public static final long DEFAULT_CAPACITY_BYTES = 4L << 30;

    /** How long closing waits for uploads where nobody chose: 5 seconds. */
    public static final Duration DEFAULT_FLUSH_LIMIT = Duration.ofSeconds(5);

    /**
     * How long a look-up waits for another process of this machine where nobody chose: 60 seconds. Who waits shorter than a kernel compiles loses
     * both, and the longest that were measured took that; whole programs of kernels rarely take more.
     */
    public static final Duration DEFAULT_LOCAL_WAIT = Duration.ofSeconds(60);

    /** How long look-ups wait for one bucket in vain by default: 4 seconds. */
    public static final Duration DEFAULT_BUCKET_WAIT = Duration.ofSeconds(4);

    private static final Logger LOG = LoggerFactory.getLogger(GranaryConfig.class);
    private static final Set<String> COMPLAINTS = ConcurrentHashMap.newKeySet();

    /**
     * Makes the directory absolute.
     *
     * @throws IllegalArgumentException if a capacity or a time is negative
     */
    public GranaryConfig {
        buckets = List.copyOf(buckets);
        directory = directory.toAbsolutePath().normalize();
        if (capacityBytes < 0 || primitiveCacheCapacity < 0 || localWait.isNegative() || bucketWait.isNegative() || flushLimit.isNegative()) {
            throw new IllegalArgumentException("Capacities and times must be 0 or more, not " + capacityBytes + ", "
                    + primitiveCacheCapacity + ", " + localWait + ", " + bucketWait + " and " + flushLimit);
        }
    }

    /**
     * The bytes of a size that a person wrote at {@code place}, such as {@code 4GiB}, or a number of MiB.
     *
     * @throws ConfigException if it is none, or not positive
     */
    public static long size(String text, String place) throws ConfigException {
        return Setting.CAPACITY.parse(text, place);
    }

    /** Starts a configuration in code. */
    public static Builder builder() {
        return new Builder(System.getenv());
    }

    /** What environment, file and defaults say. */
    public static GranaryConfig fromEnvironment() throws ConfigException {
        return builder().build();
    }

    /** Collects what code chooses; all that it leaves out comes from environment, file or defaults. Not thread-safe. */
    public static final class Builder {
        private Map<String, String> environment;
        private final List<BucketUri> buckets = new ArrayList<>();
        private @Nullable URI endpoint;
        private @Nullable S3ClientLibrary client;
        private @Nullable Path directory;
        private @Nullable Long capacityBytes;
        private @Nullable EvictionPolicy eviction;
        private @Nullable NetworkFileSystemPolicy networkDirectory;
        private @Nullable Integer primitiveCacheCapacity;
        private @Nullable PrimitiveCachePolicy primitiveCachePolicy;
        private @Nullable Duration localWait;
        private @Nullable Duration bucketWait;
        private Duration flushLimit = DEFAULT_FLUSH_LIMIT;
        private ConstantLimits constantLimits = ConstantLimits.NONE;
        private boolean isOffline;

        private Builder(Map<String, String> environment) {
            this.environment = environment;
        }

        /** The environment to read; default: this process's. */
        public Builder environment(Map<String, String> variables) {
            environment = Map.copyOf(variables);
            return this;
        }

        /**
         * Adds a shared bucket, such as {@code s3://name/prefix}, behind those that were added; default: none. Options follow a question mark:
         * {@code s3://vendor/kernels?access=read&endpoint=https://s3.example.com&region=eu-central-1&client=minio}. Commas or blanks may separate
         * several.
         */
        public Builder bucket(String address) throws ConfigException {
            buckets.addAll(Setting.BUCKET.parse(address, "The bucket"));
            return this;
        }

        /** No bucket, whatever environment and file say. */
        public Builder offline() {
            isOffline = true;
            return this;
        }

        /** The object store's address for buckets that name none, with {@code http} or {@code https}; default: Amazon's. */
        public Builder endpoint(String address) throws ConfigException {
            endpoint = Setting.ENDPOINT.parse(address, "The endpoint");
            return this;
        }

        /** The client library for buckets that name none, {@code aws} or {@code minio}; default: {@code aws}. */
        public Builder client(String name) throws ConfigException {
            client = Setting.CLIENT.parse(name, "The client");
            return this;
        }

        /** The local tier's directory; default: {@code granary} under {@code XDG_CACHE_HOME} or {@code ~/.cache}. */
        public Builder directory(Path path) {
            directory = path;
            return this;
        }

        /** Like {@link #directory(Path)}, from a text that a person wrote. */
        public Builder directory(String path) throws ConfigException {
            return directory(Setting.DIRECTORY.parse(path, "The directory"));
        }

        /**
         * The local tier's limit, such as {@code 4GiB}, or a number of MiB; default: 4 GiB. 0 keeps nothing on disk: the directory is neither
         * read nor written nor created, and what others keep there stays.
         */
        public Builder capacity(String size) throws ConfigException {
            capacityBytes = Setting.CAPACITY.parse(size, "The capacity");
            return this;
        }

        /** Which entries leave the local tier first when it is full; default: the least recently used. */
        public Builder eviction(EvictionPolicy policy) {
            eviction = policy;
            return this;
        }

        /** What becomes of a directory on a network file system; default: {@code open} refuses it. */
        public Builder networkDirectory(NetworkFileSystemPolicy choice) {
            networkDirectory = choice;
            return this;
        }

        /**
         * How many primitives are kept in memory, 0 for none; default: {@value PrimitiveCache#DEFAULT_CAPACITY}.
         *
         * @throws ConfigException if negative
         */
        public Builder primitiveCacheCapacity(int primitives) throws ConfigException {
            primitiveCacheCapacity =
                    Setting.PRIMITIVE_CACHE_CAPACITY.parse(Integer.toString(primitives), "The capacity of the primitive cache");
            return this;
        }

        /** Which primitives leave the memory first when it is full; default: the least recently used. */
        public Builder primitiveCachePolicy(PrimitiveCachePolicy policy) {
            primitiveCachePolicy = policy;
            return this;
        }

        /**
         * How long a look-up waits for another process of this machine that is compiling the same; then it compiles, too. Zero: it neither
         * waits nor lets others wait. Default: 60 seconds.
         *
         * @throws ConfigException if negative, or longer than a year
         */
        public Builder localWait(Duration limit) throws ConfigException {
            localWait = checked(limit, "The local wait");
            return this;
        }

        /**
         * How long look-ups of this process wait for one bucket in vain, in all, before they skip it and
         * compile; at least 4 % of the time spent compiling. Default: 4 seconds.
         *
         * @throws ConfigException if negative, or longer than a year
         */
        public Builder bucketWait(Duration limit) throws ConfigException {
            bucketWait = checked(limit, "The bucket wait");
            return this;
        }

        /**
         * How much memory each device of a kind keeps constant tensors in, and what becomes of a new one when that is used up; default: no
         * limit. Each kind by itself: one that code does not set comes from the environment, the file or the default.
         *
         * @param megabytes in units of 1,048,576 bytes; 0 keeps none; {@link ConstantLimit#UNLIMITED} is no limit
         * @throws ConfigException if negative
         */
        public Builder constantTensorCacheCapacity(EngineKind kind, long megabytes, ConstantPolicy policy) throws ConfigException {
            if (megabytes < 0) {
                throw new ConfigException("The capacity of the constant tensor cache is " + megabytes + ", but should be a number of MB, 0 or more.");
            }
            constantLimits = new ConstantLimits(Map.of(kind, new ConstantLimit(megabytes, policy))).orElse(constantLimits);
            return this;
        }

        /** Like {@link #constantTensorCacheCapacity(EngineKind, long, ConstantPolicy)}; what is full keeps what it has. */
        public Builder constantTensorCacheCapacity(EngineKind kind, long megabytes) throws ConfigException {
            return constantTensorCacheCapacity(kind, megabytes, ConstantPolicy.NO_EVICT);
        }

        /**
         * How long {@code close} waits for uploads; default: 5 seconds.
         *
         * @throws ConfigException if negative
         */
        public Builder flushLimit(Duration limit) throws ConfigException {
            if (limit.isNegative()) {
                throw new ConfigException("The flush limit is " + limit + ", but should be 0 or more.");
            }
            flushLimit = limit;
            return this;
        }

        /**
         * The configuration.
         *
         * @throws ConfigException if a value in the environment or the file is wrong
         */
        public GranaryConfig build() throws ConfigException {
            ConfigFile file = ConfigFile.find(environment);
            Path chosenDirectory = first(directory, Setting.DIRECTORY, file);
            Long chosenCapacity = first(capacityBytes, Setting.CAPACITY, file);
            EvictionPolicy chosenEviction = first(eviction, Setting.EVICTION, file);
            NetworkFileSystemPolicy chosenNetwork = first(networkDirectory, Setting.NETWORK_DIRECTORY, file);
            Duration chosenWait = first(localWait, Setting.LOCAL_WAIT, file);
            Duration chosenBucketWait = first(bucketWait, Setting.BUCKET_WAIT, file);
            return new GranaryConfig(
                    isOffline ? List.of() : chooseBuckets(file),
                    chosenDirectory == null ? defaultDirectory() : chosenDirectory,
                    chosenCapacity == null ? DEFAULT_CAPACITY_BYTES : chosenCapacity,
                    chosenEviction == null ? EvictionPolicy.LRU : chosenEviction,
                    chosenNetwork == null ? NetworkFileSystemPolicy.REFUSE : chosenNetwork,
                    lenient(primitiveCacheCapacity, Setting.PRIMITIVE_CACHE_CAPACITY, file, PrimitiveCache.DEFAULT_CAPACITY),
                    lenient(primitiveCachePolicy, Setting.PRIMITIVE_CACHE_POLICY, file, PrimitiveCachePolicy.LRU),
                    chosenWait == null ? DEFAULT_LOCAL_WAIT : chosenWait,
                    chosenBucketWait == null ? DEFAULT_BUCKET_WAIT : chosenBucketWait,
                    flushLimit,
                    chooseConstantLimits(file));
        }

        private static Duration checked(Duration wait, String name) throws ConfigException {
            if (wait.isNegative() || wait.compareTo(Setting.LONGEST) > 0) {
                throw new ConfigException(name + " is " + wait + ", but should be from 0 to a year.");
            }
            return wait;
        }

        private List<BucketConfig> chooseBuckets(ConfigFile file) throws ConfigException {
            List<BucketUri> written = first(buckets.isEmpty() ? null : buckets, Setting.BUCKET, file);
            Optional<URI> usualEndpoint = Optional.ofNullable(first(endpoint, Setting.ENDPOINT, file));
            S3ClientLibrary chosenClient = first(client, Setting.CLIENT, file);
            List<BucketConfig> layers = new ArrayList<>();
            Set<String> names = new HashSet<>();
            for (BucketUri one : written == null ? List.<BucketUri>of() : written) {
                BucketConfig layer = one.with(usualEndpoint, chosenClient == null ? S3ClientLibrary.AWS : chosenClient);
                if (!names.add(layer.name())) {
                    throw new ConfigException("The bucket " + layer.name() + " is named twice; name each once, in the order in which to ask them.");
                }
                layers.add(layer);
            }
            return layers;
        }

        /** A wrong value in the environment is ignored: a cache in memory is no reason to keep a program from starting. */
        private <T> T lenient(@Nullable T inCode, Setting<T> setting, ConfigFile file, T fallback) throws ConfigException {
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

        /** As with the primitive cache, what is wrong in the environment is ignored, and said once; what is right beside it holds. */
        private ConstantLimits chooseConstantLimits(ConfigFile file) throws ConfigException {
            Setting<ConstantLimits> setting = Setting.CONSTANT_TENSOR_CACHE_CAPACITY;
            ConstantLimits.Parsed inEnvironment = ConstantLimits.parse(environment.getOrDefault(setting.environment(), ""));
            if (!inEnvironment.mistakes().isEmpty()) {
                String wrong = String.join("' and '", inEnvironment.mistakes().stream().map(SafeText::of).toList());
                if (COMPLAINTS.add(wrong)) {
                    LOG.warn("The environment variable {} has '{}', but should be {}. That is ignored.", setting.environment(), wrong, setting.expected());
                }
            }
            ConstantLimits inFile = file.value(setting);
            return constantLimits.orElse(inEnvironment.limits()).orElse(inFile == null ? ConstantLimits.NONE : inFile);
        }

        private <T> @Nullable T first(@Nullable T inCode, Setting<T> setting, ConfigFile file) throws ConfigException {
            if (inCode != null) {
                return inCode;
            }
            T found = inEnvironment(setting);
            return found != null ? found : file.value(setting);
        }

        private <T> @Nullable T inEnvironment(Setting<T> setting) throws ConfigException {
            String text = environment.get(setting.environment());
            return text == null || text.isBlank() ? null : setting.parse(text, "The environment variable " + setting.environment());
        }

        private Path defaultDirectory() throws ConfigException {
            return ConfigFile.homeOf(environment, "XDG_CACHE_HOME", ".cache")
                    .orElseThrow(() -> new ConfigException("This user has no home directory for the cache; set "
                            + Setting.DIRECTORY.environment() + " or XDG_CACHE_HOME."))
                    .resolve("granary");
        }
    }
}
