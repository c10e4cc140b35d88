package dev.granary.cli.entry;

import dev.granary.cache.Id;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.lookup.Explainer;
import dev.granary.coordinator.tier.Tiers;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The steps and the outcome of a lookup that changed nothing, in words.
 *
 * @param id the id in the namespace of the engine; may be empty
 */
record ExplainedLookup(Id id, Explainer.Explanation explanation) {
    /**
     * Adds each step and the outcome to a report.
     *
     * @param layers the names of the buckets in the order of lookups
     */
    void addTo(List<String> layers, Report report) {
        if (!id.isEmpty()) {
            report.text("memory", "not examined: each process has its own");
        }
        explanation.events().forEach(event -> add(event, report));
        if (explanation.entry().isPresent()) {
            layers.stream()
                    .filter(layer -> explanation.events().stream()
                            .noneMatch(event -> event instanceof GranaryEvent.Load load
                                    && load.tier().equals(layer)))
                    .forEach(layer -> report.text("bucket", layer + ": not needed"));
        }
        report.field("outcome", outcome())
                .data("waitLimitMillis", waitLimit().map(Duration::toMillis).orElse(0L));
    }

    private void add(GranaryEvent event, Report report) {
        String program = isOwn(event) ? "" : "SPIR-V: ";
        switch (event) {
            case GranaryEvent.Load load ->
                step(report, "load", load.id(), load.tier(), load.outcome(), text(load))
                        .text(label(load.tier()), program + address(load.tier()) + text(load));
            case GranaryEvent.Restore restore ->
                step(
                                report,
                                "restore",
                                restore.id(),
                                restore.tier(),
                                restore.outcome(),
                                text(restore))
                        .text(
                                label(restore.tier()),
                                program + address(restore.tier()) + text(restore));
            case GranaryEvent.Wait wait -> {
                String finding = "another process is compiling or storing it";
                step(report, "wait", wait.id(), "", wait.outcome(), finding)
                        .text("claim", program + finding);
            }
            case GranaryEvent.Compile compile -> {
                String finding = compile.failure()
                        .map(cause -> "none, so the compile fails: " + cause)
                        .orElse("compiled, and stored if its compiler is known");
                String outcome = compile.failure().isEmpty() ? "compiled" : "failed";
                Report step = step(report, "compile", compile.id(), "", outcome, finding);
                if (!isOwn(event)) {
                    step.text("SPIR-V", finding);
                }
            }
            case GranaryEvent.Lookup _,
                    GranaryEvent.Store _,
                    GranaryEvent.Upload _,
                    GranaryEvent.Eviction _ -> {}
        }
    }

    private static Report step(
            Report report, String kind, String id, String tier, Object outcome, String finding) {
        return report.part("steps")
                .data("step", kind)
                .data("id", id)
                .data("tier", tier)
                .data("outcome", outcome.toString().toLowerCase(Locale.ROOT))
                .data("finding", finding);
    }

    private static String label(String tier) {
        return tier.equals(Tiers.LOCAL) ? Tiers.LOCAL : "bucket";
    }

    private static String address(String tier) {
        return tier.equals(Tiers.LOCAL) ? "" : tier + ": ";
    }

    private static String text(GranaryEvent.Load load) {
        String cause = load.cause().orElse("");
        return switch (load.outcome()) {
            case HIT -> "hit: " + Units.bytes(load.bytes()) + ", key and checksums right";
            case ABSENT -> "absent";
            case DAMAGED -> "damaged, a miss: " + cause;
            case UNAVAILABLE -> "unavailable, a miss: " + cause;
            case SKIPPED -> cause;
        };
    }

    private String text(GranaryEvent.Restore restore) {
        String cause = restore.cause().orElse("");
        return switch (restore.outcome()) {
            case RESTORED, RECOMPILED ->
                isOwn(restore) ? "restored" : "the driver builds from this program";
            case QUARANTINED -> "not used: " + explanation.quarantine().orElse("in quarantine");
            case INCOMPATIBLE -> "discarded as incompatible: " + cause;
            case REFUSED, FAILED -> "not used: " + cause;
        };
    }

    private String outcome() {
        String found = explanation.entry().isEmpty()
                ? "a lookup compiles: " + reason()
                : explanation.events().stream()
                        .filter(this::isOwn)
                        .filter(GranaryEvent.Restore.class::isInstance)
                        .map(GranaryEvent.Restore.class::cast)
                        .reduce((_, last) -> last)
                        .map(last -> "a lookup restores the entry of "
                                + (last.tier().equals(Tiers.LOCAL)
                                        ? "the local tier"
                                        : last.tier() + ", and stores it in the local tier"))
                        .orElseGet(() -> "a lookup compiles: " + reason());
        return waitLimit()
                        .map(limit -> "a lookup waits for the other process, at most "
                                + Units.time(limit) + "; otherwise ")
                        .orElse("")
                + found;
    }

    private Optional<Duration> waitLimit() {
        return explanation.events().stream()
                .filter(GranaryEvent.Wait.class::isInstance)
                .map(GranaryEvent::duration)
                .reduce((_, last) -> last);
    }

    private String reason() {
        if (id.isEmpty()) {
            return "the kernel is not cacheable: " + id.reason();
        }
        return explanation.events().stream().noneMatch(GranaryEvent.Load.class::isInstance)
                ? "the setting enabled switches its engine off"
                : "no tier has an entry that it may use"
                        + explanation.failure().map(cause -> "; " + cause).orElse("");
    }

    /** Returns false for an event of the lookup of an intermediate program. */
    private boolean isOwn(GranaryEvent event) {
        String digest = id.isEmpty() ? "" : id.hash().hex();
        return switch (event) {
            // an entry of another namespace has another id
            case GranaryEvent.Load load -> load.id().equals(digest);
            case GranaryEvent.Restore restore ->
                restore.id().equals(digest)
                        || explanation
                                .entry()
                                .filter(entry -> entry.id().hash().hex().equals(restore.id()))
                                .isPresent();
            case GranaryEvent.Wait wait -> wait.id().equals(digest);
            case GranaryEvent.Compile compile -> compile.id().equals(digest);
            case GranaryEvent.Lookup lookup -> lookup.id().equals(digest);
            case GranaryEvent.Store _, GranaryEvent.Upload _, GranaryEvent.Eviction _ -> false;
        };
    }
}
