package dev.granary.cli.entry;

import dev.granary.cache.Id;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.lookup.Explainer;
import dev.granary.coordinator.tier.Tiers;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The steps and the outcome of a lookup that changed nothing, in words.
 *
 * @param id the id in the namespace of the engine; may be empty
 */
record ExplainedLookup(Id id, Explainer.Explanation explanation) {
    private static final String CLAIM = "claim";
    private static final String CLAIMED = "another process is compiling or storing it";

    /** Adds each step and the outcome to a report. */
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
        explanation.claim().ifPresent(claim -> add(claim, report));
        report.field("outcome", outcome())
                .data("waitLimitMillis", waitLimit().map(Duration::toMillis).orElse(0L));
    }

    private void add(GranaryEvent event, Report report) {
        switch (event) {
            case GranaryEvent.Load one ->
                add("load", one.id(), one.tier(), one.outcome(), text(one), report);
            case GranaryEvent.Restore one ->
                add("restore", one.id(), one.tier(), one.outcome(), text(one), report);
            case GranaryEvent.Wait one ->
                add("wait", one.id(), CLAIM, one.outcome(), CLAIMED, report);
            case GranaryEvent.Compile one -> {
                String finding = one.failure()
                        .map(cause -> "none, so the compile fails: " + cause)
                        .orElse("compiled, and stored if its compiler is known");
                String outcome = one.failure().isEmpty() ? "compiled" : "failed";
                add("compile", one.id(), "", outcome, finding, report);
            }
            default -> {} // an explanation has no others
        }
    }

    private static void add(Explainer.FleetClaim claim, Report report) {
        ClaimStore.Claim content = claim.taken().claim();
        Optional<Duration> age = claim.taken().age();
        Optional<Duration> expected = Optional.of(content.expected()).filter(Duration::isPositive);
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("layer", claim.layer());
        data.put("ageMillis", age);
        data.put("expectedMillis", expected);
        data.put("failed", content.hasFailed());
        String since = age.map(time -> ", since " + Units.time(time)).orElse("");
        String limit = expected.map(time -> "; it expected " + Units.time(time)).orElse("");
        report.data("claim", data)
                .text(
                        CLAIM,
                        content.hasFailed()
                                ? "the compile of another machine has failed"
                                : "another machine compiles it" + since + limit);
    }

    /** Adds a step; to the text unless it is the compile of the kernel, which is the outcome. */
    private void add(
            String kind, String of, String tier, Object outcome, String finding, Report report) {
        report.part("steps")
                .data("step", kind)
                .data("id", of)
                .data("tier", tier.equals(CLAIM) ? "" : tier)
                .data("outcome", outcome.toString().toLowerCase(Locale.ROOT))
                .data("finding", finding);
        String program = isOwn(of) ? "" : "SPIR-V: ";
        if (List.of(Tiers.LOCAL, CLAIM).contains(tier)) {
            report.text(tier, program + finding);
        } else if (!tier.isEmpty()) {
            report.text("bucket", program + tier + ": " + finding);
        } else if (!isOwn(of)) {
            report.text("SPIR-V", finding);
        }
    }

    private static String text(GranaryEvent.Load load) {
        String cause = load.cause().orElse("");
        return switch (load.outcome()) {
            case HIT -> "hit: " + Units.bytes(load.bytes()) + ", intact";
            case ABSENT -> "absent";
            case DAMAGED -> "damaged, a miss: " + cause;
            case UNTRUSTED -> "untrusted, a miss: " + cause;
            case UNAVAILABLE -> "unavailable, a miss: " + cause;
            case SKIPPED -> cause;
        };
    }

    private String text(GranaryEvent.Restore restore) {
        String cause = restore.cause().orElse("");
        return switch (restore.outcome()) {
            case RESTORED, RECOMPILED ->
                isOwn(restore.id()) ? "restored" : "the driver builds from this program";
            case QUARANTINED -> "not used: " + explanation.quarantine().orElse("in quarantine");
            case INCOMPATIBLE -> "discarded as incompatible: " + cause;
            case REFUSED, FAILED -> "not used: " + cause;
        };
    }

    private String outcome() {
        String waiting = waitLimit()
                .map(limit -> "a lookup waits for the other process, at most " + Units.time(limit)
                        + "; otherwise ")
                .or(() -> explanation
                        .claim()
                        .filter(claim -> !claim.taken().claim().hasFailed())
                        .map(_ -> "a lookup may wait for the other machine; otherwise "))
                .orElse("");
        return waiting
                + explanation.events().stream()
                        .filter(GranaryEvent.Restore.class::isInstance)
                        .map(GranaryEvent.Restore.class::cast)
                        .filter(restore -> isOwn(restore.id()))
                        .reduce((_, last) -> last)
                        .filter(_ -> explanation.entry().isPresent())
                        .map(last -> "a lookup restores the entry of "
                                + (last.tier().equals(Tiers.LOCAL)
                                        ? "the local tier"
                                        : last.tier() + ", and stores it in the local tier"))
                        .orElseGet(() -> "a lookup compiles: " + reason());
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

    /** Returns false for the id of an intermediate program. */
    private boolean isOwn(String of) {
        // an entry of another namespace has another id
        return (!id.isEmpty() && id.hash().hex().equals(of))
                || explanation
                        .entry()
                        .filter(entry -> entry.id().hash().hex().equals(of))
                        .isPresent();
    }
}
