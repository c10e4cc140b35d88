package dev.granary.coordinator.cli;

import dev.granary.coordinator.Inventory;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import picocli.CommandLine.Option;

/** The option that chooses the tier to look into. */
final class TierOption {
    /** The tiers that can be looked into. */
    enum Choice {
        LOCAL,
        BUCKET
    }

    @Option(names = "--tier", paramLabel = "local|bucket", defaultValue = "local", description = "where to look (default: ${DEFAULT-VALUE})")
    private Choice tier = Choice.LOCAL;

    Inventory open(GranaryConfig config) throws ConfigException {
        return switch (tier) {
            case LOCAL -> Inventory.ofLocal(config);
            case BUCKET -> Inventory.ofBucket(config);
        };
    }

    Choice choice() {
        return tier;
    }
}
