package dev.granary.local;

import java.nio.file.Path;
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
 */
public record LocalConfig(
        Path directory,
        long capacityBytes,
        EvictionPolicy policy,
        NetworkFileSystems networkFileSystems,
        InstantSource clock,
        Executor background) {
    /**
     * The default capacity, 4 GiB: some 40,000 entries of the usual sizes, which is several driver versions of a large application;
     * little on any disk that runs GPU work, and walked in less than a second.
     */
    public static final long DEFAULT_CAPACITY_BYTES = 4L << 30;

    /**
     * Makes the directory absolute and checks the capacity.
     *
     * @throws IllegalArgumentException if the capacity is negative
     */
    public LocalConfig {
        directory = directory.toAbsolutePath().normalize();
        requireCapacity(capacityBytes);
        Objects.requireNonNull(policy, "policy");
        Objects.requireNonNull(networkFileSystems, "networkFileSystems");
        Objects.requireNonNull(clock, "clock");
        Objects.requireNonNull(background, "background");
    }

    /** Starts a configuration for that directory; a relative path is taken from the working directory. No default. */
    public static Builder builder(Path directory) {
        return new Builder(directory);
    }

    static long requireCapacity(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException(
                    "The local capacity is " + bytes + " bytes; it must be 0 (nothing is kept) or more, by default " + DEFAULT_CAPACITY_BYTES);
        }
        return bytes;
    }

    /** Collects a configuration. Not thread-safe. */
    public static final class Builder {
        private final Path directory;
        private long capacityBytes = DEFAULT_CAPACITY_BYTES;
        private EvictionPolicy policy = EvictionPolicy.LRU;
        private NetworkFileSystems networkFileSystems = NetworkFileSystems.REFUSE;
        private InstantSource clock = InstantSource.system();
        private Executor background = Builder::startDaemon;

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
         * What becomes of a directory on a network file system. Default {@link NetworkFileSystems#REFUSE}, which makes
         * {@link LocalTier#open(LocalConfig)} throw before anything is written.
         */
        public Builder networkFileSystems(NetworkFileSystems choice) {
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
         * The configuration.
         *
         * @throws IllegalArgumentException if the capacity is negative
         */
        public LocalConfig build() {
            return new LocalConfig(directory, capacityBytes, policy, networkFileSystems, clock, background);
        }

        private static void startDaemon(Runnable task) {
            Thread.ofPlatform().daemon().name("granary-local").start(task);
        }
    }
}
