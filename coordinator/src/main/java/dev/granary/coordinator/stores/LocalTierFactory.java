package dev.granary.coordinator.stores;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import java.time.InstantSource;

/** Opens the local tier that a configuration names. */
public final class LocalTierFactory {
    private LocalTierFactory() {}

    /**
     * Opens it as programs do: where more lies there than the configured capacity, the oldest entries leave.
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
     * Opens it for a tool that looks: nothing leaves, whatever capacity is configured here. The programs that fill the directory may have
     * been given another one.
     *
     * @throws ConfigException if its directory cannot be used
     */
    public static LocalTier openToLook(GranaryConfig config) throws ConfigException {
        return open(config, Long.MAX_VALUE, InstantSource.system());
    }

    private static LocalTier open(GranaryConfig config, long capacityBytes, InstantSource clock) throws ConfigException {
        try {
            return LocalTier.open(LocalTierConfig.builder(config.directory()).capacityBytes(capacityBytes).policy(config.eviction())
                    .networkFileSystems(config.networkDirectory()).clock(clock).build());
        } catch (LocalDirectoryException e) {
            throw new ConfigException(String.valueOf(e.getMessage()));
        }
    }
}
