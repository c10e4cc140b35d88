package dev.granary.cli.command;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.LocalOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Mixin;

import java.io.IOException;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * Base of the commands on the local tier alone. It has no options for buckets: they would have no
 * effect.
 */
public abstract class LocalTierCommand extends OutputCommand {
    @Mixin
    private LocalOptions local = new LocalOptions();

    @Override
    public Integer call() throws Exception {
        check();
        GranaryConfig config = configure(local.builder()).build();
        try (LocalTier tier = open(config)) {
            return run(tier, config);
        } catch (IOException e) {
            throw new CommandFailedException(failureMessage() + ": " + e);
        }
    }

    /** Rejects invalid options before anything is opened. */
    protected void check() throws UsageException, ConfigException {}

    /** Returns a configuration with the arguments of the command, by default as it is. */
    protected GranaryConfigBuilder configure(GranaryConfigBuilder options) throws ConfigException {
        return options;
    }

    /** Opens the tier, by default without eviction. */
    protected LocalTier open(GranaryConfig config) throws ConfigException {
        return TierFactory.localWithoutEviction(config);
    }

    /** Returns the message for a failed operation on files. */
    protected abstract String failureMessage();

    /** Runs the command and returns the exit code. */
    protected abstract int run(LocalTier tier, GranaryConfig config) throws Exception;

    /** Returns a consumer that shows the progress by the index of the current entry. */
    protected final IntConsumer progressOf(
            ProgressLine progress, List<EntryCatalog.Listed> entries) {
        return index -> progress.passing(
                index, entries.get(index).hash().hex().substring(0, Units.SHORT_ID));
    }
}
