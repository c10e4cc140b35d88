package dev.granary.cli.operation;

import com.google.gson.JsonArray;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.QuarantineInventory;
import dev.granary.coordinator.admin.QuarantineInventory.QuarantinedEntry;
import dev.granary.coordinator.admin.SharedQuarantine;
import dev.granary.coordinator.admin.TierInventory;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.LocalTierFactory;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

import java.io.IOException;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** {@code granary quarantine publish}: replaces entries in quarantine in a bucket. */
@Command(
        name = "publish",
        mixinStandardHelpOptions = true,
        description = {
            "Replace entries in quarantine in the first writable bucket by the binaries that this"
                    + " machine has compiled since. Without this command, the reports of two"
                    + " machines lead to it."
        })
final class QuarantinePublishCommand extends TierCommand {
    @Mixin
    private QuarantineIds ids = new QuarantineIds();

    @Override
    public Integer call() throws Exception {
        ids.parse();
        GranaryConfig config = stores().config();
        try (SharedQuarantine shared = SharedQuarantine.open(config);
                LocalTier local = LocalTierFactory.openWithoutEviction(config);
                QuarantineInventory inventory =
                        QuarantineInventory.open(local.directory(), InstantSource.system())) {
            return run(shared, local, inventory);
        } catch (IOException e) {
            throw new CommandFailedException("the quarantine cannot be read: " + e);
        }
    }

    private int run(SharedQuarantine shared, LocalTier local, QuarantineInventory inventory)
            throws IOException, CommandFailedException {
        List<QuarantinedEntry> entries = inventory.entries();
        ids.requireIn(
                entries.stream().map(QuarantinedEntry::id).toList(), "no entry in quarantine");
        List<EntryCatalog.Listed> stored = TierInventory.entries(local);
        boolean isSuccess = true;
        JsonArray all = new JsonArray();
        TextTable table = new TextTable("id", "<result");
        for (QuarantinedEntry entry : entries) {
            if (!ids.isSelected(entry.id())) {
                continue;
            }
            Optional<Entry> fresh = fresh(entry, stored, local);
            Optional<StoreResult> result = fresh.isEmpty()
                    ? Optional.empty()
                    : Optional.of(shared.publish(fresh.get(), entry.content(), inventory));
            String outcome = result.map(QuarantinePublishCommand::text)
                    .orElse("not compiled anew on this machine: run its program first");
            isSuccess &= result.filter(QuarantinePublishCommand::isThere).isPresent();
            all.add(JsonOutput.object("id", entry.id().hex(), "result", outcome));
            table.row(entry.id().hex().substring(0, Units.SHORT_ID), outcome);
        }
        if (isJson()) {
            JsonOutput.print(out(), JsonOutput.object("bucket", shared.name(), "results", all));
        } else {
            out().println(shared.name());
            if (!all.isEmpty()) {
                table.print(out());
            }
            out().println(Units.plural(all.size(), "entry") + " in quarantine");
        }
        out().flush();
        return isSuccess ? 0 : 1;
    }

    private static boolean isThere(StoreResult result) {
        return switch (result) {
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ -> true;
            case StoreResult.Refused _, StoreResult.Failed _, StoreResult.Unknown _ -> false;
        };
    }

    private static String text(StoreResult result) {
        return switch (result) {
            case StoreResult.Stored _ -> "replaced";
            case StoreResult.Duplicate _ -> "there already";
            case StoreResult.Divergent _ -> "there already, by another machine";
            case StoreResult.Refused(String reason) -> "refused: " + reason;
            case StoreResult.Failed(String cause) -> "failed: " + cause;
            case StoreResult.Unknown(String cause) -> "unknown: " + cause;
        };
    }

    /** Returns the local entry of the same id, if it has other content. */
    private static Optional<Entry> fresh(
            QuarantinedEntry quarantined, List<EntryCatalog.Listed> stored, LocalTier local) {
        return stored.stream()
                .filter(listed -> listed.hash().equals(quarantined.id()))
                .map(local::read)
                .flatMap(read -> read instanceof LoadResult.Hit(Entry entry)
                        ? Stream.of(entry)
                        : Stream.empty())
                .filter(entry -> !entry.contentHash().equals(quarantined.content()))
                .findFirst();
    }
}
