package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.Sha256;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.machine.ProcessSession;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.machine.RestoreQuarantine.Quarantined;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@code granary quarantine}: what ended a process of this machine. */
@Command(
        description = "List the entries whose restore ended a process of this machine, and the"
                + " plans whose trial did. They are not tried for a day.")
public final class QuarantineCommand extends OutputCommand {
    @Mixin
    private StoreOptions.Local local = new StoreOptions.Local();

    @Option(
            names = "--clear",
            description = "end the quarantine: processes that start later try them again")
    private boolean isClearing;

    @Parameters(
            paramLabel = "ID",
            arity = "0..*",
            description = "ids of entries or tunings, or their first digits; by default all")
    private List<String> ids = List.of();

    @Override
    protected boolean run(Report report) throws Exception {
        GranaryConfig config = local.builder().build();
        try (LocalTier tier = TierFactory.localWithoutEviction(config);
                ProcessSession session = ProcessSession.begin(tier.directory());
                RestoreQuarantine quarantine =
                        new RestoreQuarantine(tier.directory(), session, InstantSource.system())) {
            quarantine.inheritDead();
            List<Quarantined> selected = selected(quarantine.all());
            int cleared = 0;
            for (Quarantined each : isClearing ? selected : List.<Quarantined>of()) {
                cleared += quarantine.remove(each) ? 1 : 0;
            }
            report.field("place", config.directory().toString());
            add(tier, isClearing ? quarantine.all() : selected, cleared, report);
        }
        return true;
    }

    private List<Quarantined> selected(List<Quarantined> all) {
        // picocli takes a converter's failure for the end of the ids
        List<String> prefixes =
                ids.stream().map(new Converters.IdPrefix()::convert).toList();
        for (String prefix : prefixes) {
            if (all.stream().noneMatch(each -> each.id().hex().startsWith(prefix))) {
                throw new CommandFailedException(
                        "no entry in quarantine has an id that begins with " + prefix);
            }
        }
        return all.stream()
                .filter(each ->
                        ids.isEmpty() || prefixes.stream().anyMatch(each.id().hex()::startsWith))
                .toList();
    }

    private void add(LocalTier tier, List<Quarantined> all, int cleared, Report report)
            throws IOException {
        Map<Sha256, String> targets = new HashMap<>();
        for (Listed listed : Place.entries(tier)) {
            targets.put(listed.hash(), listed.namespace());
        }
        report.table("quarantine", all)
                .column("id", Quarantined::id)
                .column("<content", Quarantined::content)
                .column("<until", Quarantined::end)
                .column("<target of the entry:target", each -> targets.get(each.id()));
        report.data("cleared", cleared)
                .line((isClearing ? Units.count(cleared) + " allowed again, " : "")
                        + Units.count(all.size()) + " in quarantine"
                        + (isClearing || all.isEmpty()
                                ? ""
                                : "; granary quarantine --clear allows them again"));
    }
}
