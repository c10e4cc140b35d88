package dev.granary.cli.command;

import dev.granary.cli.option.StoreOptions;

import picocli.CommandLine.Mixin;

/** Base of the commands with the options of all tiers, buckets included. */
public abstract class TierCommand extends OutputCommand {
    @Mixin
    private StoreOptions stores = new StoreOptions();

    /** Returns the options that select the stores. */
    protected final StoreOptions stores() {
        return stores;
    }
}
