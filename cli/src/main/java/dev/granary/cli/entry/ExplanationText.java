package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cli.key.KeyDifference;
import dev.granary.cli.key.KeyText;
import dev.granary.cli.key.NearestEntry;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.output.WrappedText;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.lookup.Explainer;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;

import java.io.PrintWriter;

/** The explanation of a lookup as text for people. */
final class ExplanationText {
    private final PrintWriter out;

    ExplanationText(PrintWriter out) {
        this.out = out;
    }

    /** Prints the id with its fields, the steps, and the outcome. */
    void print(ExplainCommand.Explained explained) {
        Id id = explained.id();
        if (!id.isEmpty()) {
            WrappedText.print(out, "id", id.hash().hex());
            WrappedText.print(out, "device", id.target().device());
            WrappedText.print(out, "driver", id.target().driver());
            int left =
                    KeyText.forEachField(id, (name, value) -> WrappedText.print(out, name, value));
            if (left > 0) {
                out.println("  ... and " + left + " more fields of the key; --json shows all");
            }
            WrappedText.print(out, "namespace", id.target().path());
            out.println();
            WrappedText.print(out, "memory", "not examined: each process has its own");
        }
        Explainer.Explanation explanation = explained.explanation();
        for (GranaryEvent event : explanation.events()) {
            String prefix = explained.isOwn(event) ? "" : "SPIR-V: ";
            switch (event) {
                case GranaryEvent.Load load ->
                    WrappedText.print(
                            out, label(load.tier()), prefix + tier(load.tier()) + text(load));
                case GranaryEvent.Restore restore ->
                    WrappedText.print(
                            out,
                            label(restore.tier()),
                            prefix + tier(restore.tier()) + text(restore, explained));
                case GranaryEvent.Wait _ ->
                    WrappedText.print(
                            out, "claim", prefix + "another process is compiling or storing it");
                case GranaryEvent.Compile compile -> {
                    if (!prefix.isEmpty()) {
                        WrappedText.print(
                                out,
                                "SPIR-V",
                                compile.failure()
                                        .map(cause -> "none, so the compile fails: " + cause)
                                        .orElse("compiled, and stored if its compiler is known"));
                    }
                }
                case GranaryEvent.Lookup _,
                        GranaryEvent.Store _,
                        GranaryEvent.Upload _,
                        GranaryEvent.Eviction _ -> {}
            }
        }
        WrappedText.print(out, "outcome", explained.outcome());
        out.flush();
    }

    private static String label(String tier) {
        return tier.equals(Tiers.LOCAL) ? Tiers.LOCAL : "bucket";
    }

    private static String tier(String name) {
        return name.equals(Tiers.LOCAL) ? "" : name + ": ";
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

    private static String text(GranaryEvent.Restore restore, ExplainCommand.Explained explained) {
        Explainer.Explanation explanation = explained.explanation();
        return switch (restore.outcome()) {
            case RESTORED, RECOMPILED ->
                explanation
                        .entry()
                        .filter(_ -> explained.isOwn(restore))
                        .map(entry -> facts(entry, explained.target()))
                        .orElse("the driver builds from this program");
            case QUARANTINED -> "not used: " + explanation.quarantine().orElse("in quarantine");
            case INCOMPATIBLE -> "discarded as incompatible: " + restore.cause().orElse("");
            case REFUSED, FAILED -> "not used: " + restore.cause().orElse("");
        };
    }

    /** Prints the nearest entry, as {@code diff} does. */
    void print(NearestEntry nearest, String tier) {
        out.println();
        WrappedText.print(out, "nearest", nearest.id().hash() + " in " + tier);
        TextTable table = new TextTable("field", "<lookup", "<entry");
        for (KeyDifference difference : nearest.differences()) {
            table.row(difference.field(), difference.shortA(), difference.shortB());
        }
        table.print(out);
    }

    /** Prints that no entry of the same kernel was found. */
    void printNoNearest(String tier) {
        WrappedText.print(out, "nearest", "no entry of the same kernel in " + tier);
        out.flush();
    }

    private static String facts(Entry entry, Target target) {
        return "compiled in " + Units.time(entry.compileTime())
                + entry.metadata()
                        .map(EntryMetadata::producer)
                        .map(producer -> " by " + producer)
                        .orElse("")
                + (entry.id().target().equals(target)
                        ? ""
                        : ", for " + entry.id().target().backend().path())
                + "; container "
                + text(CompatibilityChecker.check(target, entry.binaries()));
    }

    private static String text(BinaryCompatibility compatibility) {
        return switch (compatibility) {
            case BinaryCompatibility.Compatible yes -> "compatible (" + yes.reason() + ")";
            case BinaryCompatibility.Incompatible no -> "incompatible (" + no.reason() + ")";
            case BinaryCompatibility.Undetermined unknown ->
                "undetermined (" + unknown.reason() + "): the driver decides";
        };
    }
}
