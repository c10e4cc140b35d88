package dev.granary.cli;

import dev.granary.cli.option.StoreOptions;

import picocli.CommandLine.Mixin;

/** Base of the commands on all stores, buckets included. */
abstract class TierCommand extends OutputCommand {
    @Mixin
    private StoreOptions stores = new StoreOptions();

    /** Returns the options that select the stores. */
    final StoreOptions stores() {
        return stores;
    }
}
