package dev.granary.local.config;

import dev.granary.local.LocalTier;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.concurrent.Executor;

/**
 * What a {@link LocalTier} is opened with. Immutable; made by {@link #builder(Path)}.
 *
 * @param directory where entries live, absolute
 * @param capacityBytes how many bytes of entries may lie there
 * @param policy which entries leave first
 * @param networkFileSystems what becomes of a directory on a network file system
 * @param clock what stamps uses and tells ages
 * @param background what runs sweeps, evictions and the writing of uses
 * @param storeTimeout how long a store waits for other threads and processes before it fails
 */
public record LocalTierConfig(
        Path directory,
        long capacityBytes,
        EvictionPolicy policy,
        NetworkFileSystemPolicy networkFileSystems,
        InstantSource clock,
        Executor background,
        Duration storeTimeout) {
    /**
     * The default capacity, 4 GiB: some 40,000 entries of the usual sizes, which is several driver versions of a large application;
     * little on any disk that runs GPU work, and walked in less than a second.
     */
    public static final long DEFAULT_CAPACITY_BYTES = 4L << 30;

    /**
     * The default deadline of a store that waits for other threads and processes: 10 seconds. Stores run behind the callers of a cache, and 64
     * processes that store without a pause on two cores wait for a second or two.
     */
    public static final Duration DEFAULT_STORE_TIMEOUT = Duration.ofSeconds(10);

    private static final Duration LONGEST_TIMEOUT = Duration.ofDays(1);

    /**
     * Makes the directory absolute and checks the capacity and the timeout.
     *
     * @throws IllegalArgumentException if one of them is negative, or the timeout longer than a day
     */
    public LocalTierConfig {
        directory = directory.toAbsolutePath().normalize();
        requireCapacity(capacityBytes);
        Objects.requireNonNull(policy, "policy");
        Objects.requireNonNull(networkFileSystems, "networkFileSystems");
        Objects.requireNonNull(clock, "clock");
        Objects.requireNonNull(background, "background");
        requireTimeout(storeTimeout);
    }

    /** Starts a configuration for that directory; a relative path is taken from the working directory. No default. */
    public static Builder builder(Path directory) {
        return new Builder(directory);
    }

    public static long requireCapacity(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException(
                    "The local capacity is " + bytes + " bytes; it must be 0 (nothing is kept) or more, by default " + DEFAULT_CAPACITY_BYTES);
        }
        return bytes;
    }

    private static void requireTimeout(Duration timeout) {
        if (timeout.isNegative() || timeout.compareTo(LONGEST_TIMEOUT) > 0) {
            throw new IllegalArgumentException(
                    "The timeout of a local store is " + timeout + "; it must be from 0 to a day, by default " + DEFAULT_STORE_TIMEOUT);
        }
    }

    /** Collects a configuration. Not thread-safe. */
    public static final class Builder {
        private final Path directory;
        private long capacityBytes = DEFAULT_CAPACITY_BYTES;
        private EvictionPolicy policy = EvictionPolicy.LRU;
        private NetworkFileSystemPolicy networkFileSystems = NetworkFileSystemPolicy.REFUSE;
        private InstantSource clock = InstantSource.system();
        private Executor background = Builder::startDaemon;
        private Duration storeTimeout = DEFAULT_STORE_TIMEOUT;

        private Builder(Path directory) {
            this.directory = Objects.requireNonNull(directory, "directory");
        }

        /**
         * How many bytes of entries may lie in the directory; 0 keeps nothing. Default {@link #DEFAULT_CAPACITY_BYTES}; a negative number
         * makes {@link #build()} throw.
         */
        public Builder capacityBytes(long bytes) {
            this.capacityBytes = bytes;
            return this;
        }

        /** Which entries leave first. Default {@link EvictionPolicy#LRU}. */
        public Builder policy(EvictionPolicy policy) {
            this.policy = policy;
            return this;
        }

        /**
         * What becomes of a directory on a network file system. Default {@link NetworkFileSystemPolicy#REFUSE}, which makes
         * {@link LocalTier#open(LocalTierConfig)} throw before anything is written.
         */
        public Builder networkFileSystems(NetworkFileSystemPolicy choice) {
            this.networkFileSystems = choice;
            return this;
        }

        /** What stamps uses, to the millisecond, and tells ages. Default the system's clock. */
        public Builder clock(InstantSource clock) {
            this.clock = clock;
            return this;
        }

        /**
         * What runs sweeps, evictions and the writing of uses. Default a daemon thread per task, of which there are few. {@code
         * Runnable::run} does all of it on the caller's thread; an executor that refuses leaves it to {@link LocalTier#close()}.
         */
        public Builder background(Executor background) {
            this.background = background;
            return this;
        }

        /**
         * How long a store waits for other threads and processes before it fails, all its waits together: for the lock under which entries
         * are entered, and for room where the directory is a quarter over its capacity. Before this was waited, contention alone makes no store fail. When one holder of
         * the lock, or one sweep, has stood still for as long, later stores fail at once until it moves. Of several tiers of one process on
         * one directory, the longest holds for the lock. Default {@link #DEFAULT_STORE_TIMEOUT}; a negative one, or more than a day, makes
         * {@link #build()} throw.
         */
        public Builder storeTimeout(Duration timeout) {
            this.storeTimeout = timeout;
            return this;
        }

        /**
         * The configuration.
         *
         * @throws IllegalArgumentException if the capacity or the timeout of a store is negative, or that timeout longer than a day
         */
        public LocalTierConfig build() {
            return new LocalTierConfig(directory, capacityBytes, policy, networkFileSystems, clock, background, storeTimeout);
        }

        private static void startDaemon(Runnable task) {
            Thread.ofPlatform().daemon().name("granary-local").start(task);
        }
    }
}
