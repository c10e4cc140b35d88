package dev.granary.cli;

import dev.granary.cli.option.StoreOptions;
import picocli.CommandLine.Mixin;

/** A command that works on the stores, buckets included: what all of those have in common. */
abstract class TierCommand extends OutputCommand {
    @Mixin
    private StoreOptions stores = new StoreOptions();

    /** The options that say which stores. */
    final StoreOptions stores() {
        return stores;
    }
}
