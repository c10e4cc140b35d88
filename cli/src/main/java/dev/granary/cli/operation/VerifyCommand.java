package dev.granary.cli.operation;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.VerifyReport;
import dev.granary.coordinator.admin.TierInventory;
import dev.granary.coordinator.admin.TierVerifier;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.time.Instant;
import java.util.List;
import java.util.function.Predicate;

/** {@code granary verify}: reads and checks all entries of the local tier. */
@Command(
        name = "verify",
        mixinStandardHelpOptions = true,
        description =
                "Read and verify the entries of the local tier; report damage and foreign files.")
public final class VerifyCommand extends LocalTierCommand {
    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(
            names = "--repair",
            description = "remove damaged entries; they are compiled again when they are needed")
    private boolean isRepairing;

    @Override
    protected void check() throws UsageException {
        selection.check();
    }

    @Override
    protected String failureMessage() {
        return "the local directory cannot be verified";
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config) throws Exception {
        List<EntryCatalog.Listed> entries =
                selection.from(TierInventory.entries(tier), Instant.now());
        Predicate<EntryCatalog.Listed> removal = isRepairing ? tier::remove : _ -> false;
        TierVerifier verifier;
        try (ProgressLine progress = new ProgressLine(err(), "verifying", entries.size())) {
            verifier = TierVerifier.all(tier, entries, removal, progressOf(progress, entries));
        }
        VerifyReport report = new VerifyReport(config.directory(), verifier, tier.usage());
        if (isJson()) {
            JsonOutput.print(out(), report.json());
        } else {
            report.print(out());
        }
        return verifier.isHealthy() ? 0 : 1;
    }
}
