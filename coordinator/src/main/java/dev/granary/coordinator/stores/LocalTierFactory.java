package dev.granary.coordinator.stores;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.time.InstantSource;

/** Factory of the local tier that a configuration names. */
public final class LocalTierFactory {
    private LocalTierFactory() {}

    /**
     * Opens the local tier. If it uses more than the configured capacity, the oldest entries are
     * evicted.
     *
     * @throws ConfigException if its directory cannot be used
     */
    public static LocalTier open(GranaryConfig config) throws ConfigException {
        return open(config, InstantSource.system());
    }

    static LocalTier open(GranaryConfig config, InstantSource clock) throws ConfigException {
        return open(config, config.capacityBytes(), clock);
    }

    /**
     * Opens the local tier for tools, without eviction: the programs that fill the directory may be
     * configured with another capacity.
     *
     * @throws ConfigException if its directory cannot be used
     */
    public static LocalTier openWithoutEviction(GranaryConfig config) throws ConfigException {
        return open(config, Long.MAX_VALUE, InstantSource.system());
    }

    /**
     * Creates or checks the directory as {@link #open(GranaryConfig)} does, for a process with
     * another local tier.
     *
     * @throws ConfigException if it cannot be used
     */
    static void prepareDirectory(GranaryConfig config) throws ConfigException {
        try {
            LocalTier.prepareDirectory(config.directory());
        } catch (LocalDirectoryException e) {
            throw new ConfigException(String.valueOf(e.getMessage()));
        }
    }

    private static LocalTier open(GranaryConfig config, long capacityBytes, InstantSource clock)
            throws ConfigException {
        try {
            return LocalTier.open(LocalTierConfig.builder(config.directory())
                    .capacityBytes(capacityBytes)
                    .policy(config.eviction())
                    .clock(clock)
                    .build());
        } catch (LocalDirectoryException e) {
            throw new ConfigException(String.valueOf(e.getMessage()));
        }
    }
}
