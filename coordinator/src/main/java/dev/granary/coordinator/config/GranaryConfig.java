package dev.granary.coordinator.config;

import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.constant.ConstantLimits;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Configuration of Granary in this process. Immutable.
 *
 * <p>Each value comes from the first source that has it: code (the {@link GranaryConfigBuilder}, or
 * the command line), the environment, the configuration file, the default. The TOML file is the one
 * that {@code GRANARY_CONFIG} names, else {@code granary/config.toml} under {@code XDG_CONFIG_HOME}
 * (default {@code ~/.config}), if it exists.
 *
 * @param buckets the shared buckets, in lookup order; empty: none
 * @param directory the directory of the local tier
 * @param capacityBytes the capacity of the local tier, in bytes; 0: no local tier, and its
 *     directory is not touched
 * @param eviction the eviction policy of the local tier
 * @param primitiveCacheCapacity the largest number of primitives in memory
 * @param localWait the longest wait of a lookup for another process of this machine that compiles
 *     the same id; zero: no wait
 * @param bucketWait the initial time budget of lookups for each bucket; if it is used up, the
 *     bucket is skipped
 * @param flushLimit the longest wait of {@code close} for uploads; the next process does the rest
 * @param constantLimits the memory for constant tensors on each device, for the configured kinds of
 *     engine
 * @param recording the manifest to which the kernels of this process are recorded; empty: none
 * @param enabled the engines whose primitives are cached beyond memory
 */
public record GranaryConfig(
        List<BucketConfig> buckets,
        Path directory,
        long capacityBytes,
        EvictionPolicy eviction,
        int primitiveCacheCapacity,
        Duration localWait,
        Duration bucketWait,
        Duration flushLimit,
        ConstantLimits constantLimits,
        Optional<Path> recording,
        EnabledEngines enabled) {
    /** The default capacity of the local tier: 4 GiB. */
    public static final long DEFAULT_CAPACITY_BYTES = 4L << 30;

    /** The default flush limit: 5 seconds. */
    public static final Duration DEFAULT_FLUSH_LIMIT = Duration.ofSeconds(5);

    /**
     * The default local wait: 60 seconds. If the wait is shorter than the compile, a process pays
     * for both. The longest measured compiles took 60 seconds; whole programs rarely take more.
     */
    public static final Duration DEFAULT_LOCAL_WAIT = Duration.ofSeconds(60);

    /** The default bucket wait: 4 seconds. */
    public static final Duration DEFAULT_BUCKET_WAIT = Duration.ofSeconds(4);

    /**
     * Creates a configuration with an absolute directory.
     *
     * @throws IllegalArgumentException if a capacity or a time is negative
     */
    public GranaryConfig {
        buckets = List.copyOf(buckets);
        directory = directory.toAbsolutePath().normalize();
        recording = recording.map(file -> file.toAbsolutePath().normalize());
        if (capacityBytes < 0
                || primitiveCacheCapacity < 0
                || localWait.isNegative()
                || bucketWait.isNegative()
                || flushLimit.isNegative()) {
            throw new IllegalArgumentException("Capacities and times must be 0 or more, not "
                    + capacityBytes + ", " + primitiveCacheCapacity + ", " + localWait + ", "
                    + bucketWait + " and " + flushLimit);
        }
    }

    /**
     * Parses a size, such as {@code 4GiB}, or a number of MiB.
     *
     * @param place the place of the text, for messages
     * @return the size in bytes
     * @throws ConfigException if the text is not a size, or negative
     */
    public static long size(String text, String place) throws ConfigException {
        return Setting.CAPACITY.parse(text, place);
    }

    /** Returns a builder. */
    public static GranaryConfigBuilder builder() {
        return new GranaryConfigBuilder(System.getenv());
    }

    /** Returns the configuration of the environment, the file and the defaults. */
    public static GranaryConfig fromEnvironment() throws ConfigException {
        return builder().build();
    }
}
