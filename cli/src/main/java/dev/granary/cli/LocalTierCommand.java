package dev.granary.cli;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.LocalOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.LocalTierFactory;
import dev.granary.local.LocalTier;
import java.io.IOException;
import java.util.List;
import java.util.function.IntConsumer;
import picocli.CommandLine.Mixin;

/** A command that looks after the local tier's directory. It takes no options for buckets: they would do nothing. */
abstract class LocalTierCommand extends OutputCommand {
    @Mixin
    private LocalOptions local = new LocalOptions();

    @Override
    public final Integer call() throws Exception {
        check();
        GranaryConfig config = local.builder().build();
        try (LocalTier tier = open(config)) {
            return run(tier, config);
        } catch (IOException e) {
            throw new CommandFailedException(failure() + ": " + e);
        }
    }

    /** Refuses options that cannot work, before anything is opened. */
    void check() throws UsageException {}

    /** Opens the tier: to look, unless the command says otherwise. */
    LocalTier open(GranaryConfig config) throws ConfigException {
        return LocalTierFactory.openWithoutEviction(config);
    }

    /** What could not be done, where an operation on files fails. */
    abstract String failure();

    /** Does the work; returns the exit code. */
    abstract int run(LocalTier tier, GranaryConfig config) throws Exception;

    /** Shows how far work on entries is. */
    final IntConsumer showing(ProgressLine progress, List<EntryCatalog.Listed> entries) {
        return at -> progress.passing(at, entries.get(at).hash().hex().substring(0, Units.SHORT_ID));
    }
}
