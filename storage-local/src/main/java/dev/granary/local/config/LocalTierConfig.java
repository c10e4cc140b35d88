package dev.granary.local.config;

import dev.granary.local.LocalTier;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.concurrent.Executor;

/**
 * Configuration of a {@link LocalTier}. Immutable; built by {@link #builder(Path)}.
 *
 * @param directory the directory of the entries, absolute
 * @param capacityBytes maximum number of bytes of entries in the directory
 * @param policy order in which entries are evicted
 * @param networkFileSystems treatment of a directory on a network file system
 * @param clock clock for times of storing and last use
 * @param background executor of sweeps, evictions and the writing of last uses
 * @param storeTimeout maximum time that a store waits for other threads and processes
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
     * Default capacity: 4 GiB. It holds about 40,000 entries of the usual sizes: several driver
     * versions of a large application. It is little on any disk of a GPU machine, and is scanned in
     * less than a second.
     */
    public static final long DEFAULT_CAPACITY_BYTES = 4L << 30;

    /**
     * Default timeout of a store that waits for other threads and processes: 10 s. Stores are
     * write-behind, and 64 processes that store without a pause on two cores wait 1 to 2 s.
     */
    public static final Duration DEFAULT_STORE_TIMEOUT = Duration.ofSeconds(10);

    private static final Duration LONGEST_TIMEOUT = Duration.ofDays(1);

    /**
     * Makes the directory absolute, and checks capacity and timeout.
     *
     * @throws IllegalArgumentException if one of them is negative, or the timeout exceeds 1 day
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

    /**
     * Returns a builder for this directory, which has no default; a relative path is resolved
     * against the working directory.
     */
    public static Builder builder(Path directory) {
        return new Builder(directory);
    }

    public static long requireCapacity(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("The local capacity is " + bytes
                    + " bytes; it must be 0 (nothing is stored) or more, by default "
                    + DEFAULT_CAPACITY_BYTES);
        }
        return bytes;
    }

    private static void requireTimeout(Duration timeout) {
        if (timeout.isNegative() || timeout.compareTo(LONGEST_TIMEOUT) > 0) {
            throw new IllegalArgumentException("The timeout of a local store is " + timeout
                    + "; it must be from 0 to 1 day, by default " + DEFAULT_STORE_TIMEOUT);
        }
    }

    /** Builder of a {@link LocalTierConfig}. Not thread-safe. */
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
         * Sets the maximum number of bytes of entries in the directory; 0 stores nothing. Default
         * {@link #DEFAULT_CAPACITY_BYTES}; a negative number makes {@link #build()} throw.
         */
        public Builder capacityBytes(long bytes) {
            this.capacityBytes = bytes;
            return this;
        }

        /** Sets the order of eviction. Default {@link EvictionPolicy#LRU}. */
        public Builder policy(EvictionPolicy policy) {
            this.policy = policy;
            return this;
        }

        /**
         * Sets the treatment of a directory on a network file system. Default
         * {@link NetworkFileSystemPolicy#REFUSE}, which makes
         * {@link LocalTier#open(LocalTierConfig)} throw before anything is written.
         */
        public Builder networkFileSystems(NetworkFileSystemPolicy choice) {
            this.networkFileSystems = choice;
            return this;
        }

        /**
         * Sets the clock for times of storing, in whole seconds, and of last use, in microseconds.
         * Default the system's clock.
         */
        public Builder clock(InstantSource clock) {
            this.clock = clock;
            return this;
        }

        /**
         * Sets the executor of sweeps, evictions and the writing of last uses. Default a daemon
         * thread per task, of which there are few. {@code Runnable::run} runs all of them on the
         * caller's thread. Tasks that the executor rejects run in {@link LocalTier#close()}.
         */
        public Builder background(Executor background) {
            this.background = background;
            return this;
        }

        /**
         * Sets the maximum total time that a store waits for other threads and processes. It waits
         * for the commit lock, and for space if usage is 1/4 above the capacity. Contention alone
         * fails no store before that. After a holder of the lock, or a sweep, has made no progress
         * for as long, later stores fail at once until it does. Among several tiers of one process
         * on one directory, the longest timeout applies to the lock. Default
         * {@link #DEFAULT_STORE_TIMEOUT}; a negative one, or one above 1 day, makes
         * {@link #build()} throw.
         */
        public Builder storeTimeout(Duration timeout) {
            this.storeTimeout = timeout;
            return this;
        }

        /**
         * Returns the configuration.
         *
         * @throws IllegalArgumentException if the capacity or the timeout is negative, or the
         *     timeout exceeds 1 day
         */
        public LocalTierConfig build() {
            return new LocalTierConfig(
                    directory,
                    capacityBytes,
                    policy,
                    networkFileSystems,
                    clock,
                    background,
                    storeTimeout);
        }

        private static void startDaemon(Runnable task) {
            Thread.ofPlatform().daemon().name("granary-local").start(task);
        }
    }
}
