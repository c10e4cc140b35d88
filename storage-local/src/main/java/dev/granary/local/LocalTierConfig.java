package dev.granary.local;

import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.format.TrustPolicy;

import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Objects;
import java.util.concurrent.Executor;

/**
 * Configuration of a {@link LocalTier}. Immutable; built by {@link #builder(Path)}.
 *
 * @param directory the directory of the entries, absolute
 * @param capacityBytes maximum number of bytes of entries in the directory
 * @param policy order in which entries are evicted
 * @param trust which signatures of entries count
 * @param clock clock for times of storing and last use
 * @param background executor of sweeps
 */
public record LocalTierConfig(
        Path directory,
        long capacityBytes,
        EvictionPolicy policy,
        TrustPolicy trust,
        InstantSource clock,
        Executor background) {
    /**
     * Default capacity: 4 GiB. It holds about 40,000 entries of the usual sizes: several driver
     * versions of a large application. It is little on any disk of a GPU machine, and is scanned in
     * less than a second.
     */
    public static final long DEFAULT_CAPACITY_BYTES = 4L << 30;

    /**
     * Makes the directory absolute, and checks the capacity.
     *
     * @throws IllegalArgumentException if the capacity is negative
     */
    public LocalTierConfig {
        directory = directory.toAbsolutePath().normalize();
        requireCapacity(capacityBytes);
        Objects.requireNonNull(policy, "policy");
        Objects.requireNonNull(clock, "clock");
        Objects.requireNonNull(background, "background");
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

    /** Builder of a {@link LocalTierConfig}. Not thread-safe. */
    public static final class Builder {
        private final Path directory;
        private long capacityBytes = DEFAULT_CAPACITY_BYTES;
        private EvictionPolicy policy = EvictionPolicy.LRU;
        private TrustPolicy trust = TrustPolicy.OFF;
        private InstantSource clock = InstantSource.system();
        private Executor background = Builder::startDaemon;

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

        /** Sets which signatures of entries count. Default {@link TrustPolicy#OFF}. */
        public Builder trust(TrustPolicy trust) {
            this.trust = trust;
            return this;
        }

        /** Sets the clock for times of storing and of last use. Default the system's clock. */
        public Builder clock(InstantSource clock) {
            this.clock = clock;
            return this;
        }

        /**
         * Sets the executor of sweeps. Default a daemon thread for each sweep, of which there are
         * few. {@code Runnable::run} runs them on the thread that stores. A sweep that the executor
         * rejects runs in {@link LocalTier#close()}.
         */
        public Builder background(Executor background) {
            this.background = background;
            return this;
        }

        /**
         * Returns the configuration.
         *
         * @throws IllegalArgumentException if the capacity is negative
         */
        public LocalTierConfig build() {
            return new LocalTierConfig(directory, capacityBytes, policy, trust, clock, background);
        }

        private static void startDaemon(Runnable task) {
            Thread.ofPlatform().daemon().name("granary-local").start(task);
        }
    }
}
