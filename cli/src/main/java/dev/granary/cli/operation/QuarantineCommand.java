package dev.granary.cli.operation;

import com.google.gson.JsonArray;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.IdPrefixConverter;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.machine.ProcessSession;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.machine.RestoreQuarantine.Quarantined;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@code granary quarantine}: what ended a process of this machine. */
@Command(
        name = "quarantine",
        mixinStandardHelpOptions = true,
        description = "List the entries whose restore ended a process of this machine, and the"
                + " plans whose trial did. They are not tried for a day.")
public final class QuarantineCommand extends LocalTierCommand {
    @Option(
            names = "--clear",
            description = "end the quarantine: processes that start later try them again")
    private boolean isClearing;

    @Parameters(
            paramLabel = "ID",
            arity = "0..*",
            description = "ids of entries or tunings, or their first digits; by default all")
    private List<String> ids = List.of();

    private final List<String> prefixes = new ArrayList<>();

    @Override
    protected void check() throws UsageException {
        for (String id : ids) {
            prefixes.add(IdPrefixConverter.parse(id));
        }
    }

    @Override
    protected String failureMessage() {
        return "the quarantine cannot be read or changed";
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config)
            throws IOException, CommandFailedException {
        try (ProcessSession session = ProcessSession.begin(tier.directory());
                RestoreQuarantine quarantine =
                        new RestoreQuarantine(tier.directory(), session, InstantSource.system())) {
            quarantine.inheritDead();
            List<Quarantined> selected = selected(quarantine.all());
            int cleared = 0;
            for (Quarantined each : isClearing ? selected : List.<Quarantined>of()) {
                cleared += quarantine.remove(each) ? 1 : 0;
            }
            print(config, tier, isClearing ? quarantine.all() : selected, cleared);
        }
        out().flush();
        return 0;
    }

    private List<Quarantined> selected(List<Quarantined> all) throws CommandFailedException {
        for (String prefix : prefixes) {
            if (all.stream().noneMatch(each -> each.id().hex().startsWith(prefix))) {
                throw new CommandFailedException(
                        "no entry in quarantine has an id that begins with " + prefix);
            }
        }
        return all.stream()
                .filter(each -> prefixes.isEmpty()
                        || prefixes.stream().anyMatch(each.id().hex()::startsWith))
                .toList();
    }

    private void print(GranaryConfig config, LocalTier tier, List<Quarantined> all, int cleared)
            throws IOException {
        Map<String, String> targets = new HashMap<>();
        for (EntryCatalog.Listed listed : Place.entries(tier)) {
            targets.put(listed.hash().hex(), listed.namespace());
        }
        if (isJson()) {
            JsonArray array = new JsonArray();
            all.forEach(each -> array.add(JsonOutput.object(
                    "id", each.id().hex(),
                    "content", each.content().hex(),
                    "target", targets.getOrDefault(each.id().hex(), ""),
                    "end", each.end().toString())));
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory", config.directory(),
                            "cleared", cleared,
                            "quarantine", array));
            return;
        }
        out().println(config.directory());
        if (!isClearing && !all.isEmpty()) {
            TextTable table = new TextTable("id", "<content", "<until", "<target of the entry");
            all.forEach(each -> table.row(
                    each.id().hex().substring(0, Units.SHORT_ID),
                    each.content().hex().substring(0, Units.SHORT_ID),
                    EntryFormatter.minute(each.end().toEpochMilli()),
                    targets.getOrDefault(each.id().hex(), "-")));
            table.print(out());
        }
        out().println((isClearing ? Units.count(cleared) + " allowed again, " : "")
                + Units.count(all.size()) + " in quarantine"
                + (isClearing || all.isEmpty()
                        ? ""
                        : "; granary quarantine --clear allows them again"));
    }
}
