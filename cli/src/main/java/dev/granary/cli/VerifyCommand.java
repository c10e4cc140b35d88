package dev.granary.cli;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.VerifyReport;
import dev.granary.coordinator.admin.TierInventory;
import dev.granary.coordinator.admin.TierVerifier;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;
import java.time.Instant;
import java.util.List;
import java.util.function.Predicate;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code granary verify}: reads and checks all entries of the local tier. */
@Command(name = "verify", mixinStandardHelpOptions = true,
        description = "Read and verify the entries of the local tier; tell what is damaged and what else lies there.")
final class VerifyCommand extends LocalTierCommand {
    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(names = "--repair", description = "remove what is damaged; it is compiled anew when it is needed")
    private boolean repair;

    @Override
    void check() throws UsageException {
        selection.check();
    }

    @Override
    String failure() {
        return "the local directory cannot be verified";
    }

    @Override
    int run(LocalTier tier, GranaryConfig config) throws Exception {
        List<EntryCatalog.Listed> entries = selection.from(TierInventory.entries(tier), Instant.now());
        Predicate<EntryCatalog.Listed> removal = repair ? tier::remove : _ -> false;
        TierVerifier found;
        try (ProgressLine progress = new ProgressLine(err(), "verifying", entries.size())) {
            found = TierVerifier.all(tier, entries, removal, showing(progress, entries));
        }
        if (repair) {
            tier.reclaim();
        }
        VerifyReport report = new VerifyReport(config.directory(), found, tier.usage());
        if (isJson()) {
            JsonOutput.print(out(), report.json());
        } else {
            report.print(out());
        }
        return found.isHealthy() ? 0 : 1;
    }
}
