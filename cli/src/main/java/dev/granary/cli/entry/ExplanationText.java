package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cli.key.KeyDifference;
import dev.granary.cli.key.KeyText;
import dev.granary.cli.key.NearestEntry;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.output.WrappedText;
import dev.granary.coordinator.admin.IntermediateOutcome;
import dev.granary.coordinator.admin.LookupExplanation;
import dev.granary.coordinator.admin.LookupExplanation.Outcome;
import dev.granary.coordinator.admin.LookupExplanation.Result;
import dev.granary.coordinator.admin.LookupExplanation.TierAnswer;
import dev.granary.coordinator.admin.TierVerifier;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.io.PrintWriter;

/** The explanation of a lookup as text for people. */
final class ExplanationText {
    /** The length of a stored text that is shown. */
    private static final int FRONT_END_CHARACTERS = 200;

    private final PrintWriter out;

    ExplanationText(PrintWriter out) {
        this.out = out;
    }

    /** Prints the id with its fields, the steps, and the outcome. */
    void print(LookupExplanation explanation) {
        Id id = explanation.id();
        if (!id.isEmpty()) {
            WrappedText.print(out, "id", id.hash().hex());
            WrappedText.print(out, "device", id.target().device());
            WrappedText.print(out, "driver", id.target().driver());
            int left =
                    KeyText.forEachField(id, (name, value) -> WrappedText.print(out, name, value));
            if (left > 0) {
                out.println("  ... and " + left + " more fields of the key; --json shows all");
            }
            explanation
                    .namespaces()
                    .forEach(target -> WrappedText.print(out, "namespace", target.path()));
            out.println();
        }
        if (!explanation.answers().isEmpty()) {
            WrappedText.print(out, "memory", "not examined: each process has its own");
        }
        boolean isClaimShown = false;
        for (TierAnswer answer : explanation.answers()) {
            boolean isLocal = answer.tier().equals("local");
            if (!isLocal && !isClaimShown) {
                printClaim(explanation);
                isClaimShown = true;
            }
            WrappedText.print(
                    out,
                    isLocal ? "local" : "bucket",
                    (isLocal ? "" : answer.tier() + ": ")
                            + (explanation.namespaces().size() > 1
                                    ? "in " + answer.namespace().backend().path() + ": "
                                    : "")
                            + text(answer.result()));
        }
        if (!isClaimShown) {
            printClaim(explanation);
        }
        WrappedText.print(out, "outcome", text(explanation.outcome()));
        out.flush();
    }

    private void printClaim(LookupExplanation explanation) {
        explanation.claim().ifPresent(claim -> WrappedText.print(out, "claim", claim.detail()));
    }

    /** Prints where the SPIR-V of the compile comes from. */
    void print(IntermediateOutcome outcome) {
        WrappedText.print(out, "SPIR-V", text(outcome));
        out.flush();
    }

    private static String text(IntermediateOutcome outcome) {
        return switch (outcome) {
            case IntermediateOutcome.Stored stored ->
                "the driver builds from the intermediate program of "
                        + (stored.tier().equals("local") ? "the local tier" : stored.tier())
                        + ", by "
                        + Units.cut(stored.frontEnd(), FRONT_END_CHARACTERS);
            case IntermediateOutcome.Compiled(String frontEnd) ->
                "compiled by " + frontEnd + ", since no tier has an intermediate program that it"
                        + " may use; stored afterwards";
            case IntermediateOutcome.CompiledOnly _ ->
                "compiled, and not stored: the compiler to SPIR-V prints no version";
            case IntermediateOutcome.Missing _ ->
                "none, so the compile fails: no tier has the intermediate program, and "
                        + SpirvCompiler.REMEDY;
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

    private static String text(Result result) {
        return switch (result) {
            case Result.Usable usable ->
                "hit: " + facts(usable.entry(), usable.place()) + "; container "
                        + text(usable.compatibility());
            case Result.Quarantined quarantined ->
                "not used: " + quarantined.reason() + "; "
                        + facts(quarantined.entry(), quarantined.place());
            case Result.Incompatible incompatible ->
                "discarded as incompatible: " + incompatible.reason() + "; "
                        + facts(incompatible.entry(), incompatible.place());
            case Result.Absent(String place) -> "absent: " + place;
            case Result.Damaged damaged ->
                "damaged, a miss (" + TierVerifier.name(damaged.kind()) + "): " + damaged.detail();
            case Result.Unavailable(String cause) -> "unavailable, a miss: " + cause;
        };
    }

    private static String facts(Entry entry, String place) {
        return place + ", " + Units.bytes(entry.binaries().byteSize()) + ", key and checksums right"
                + ", compiled in " + Units.time(entry.compileTime())
                + entry.metadata()
                        .map(EntryMetadata::producer)
                        .map(producer -> " by " + producer)
                        .orElse("");
    }

    private static String text(BinaryCompatibility compatibility) {
        return switch (compatibility) {
            case BinaryCompatibility.Compatible yes -> "compatible (" + yes.reason() + ")";
            case BinaryCompatibility.Incompatible no -> "incompatible (" + no.reason() + ")";
            case BinaryCompatibility.Undetermined unknown ->
                "undetermined (" + unknown.reason() + "): the driver decides";
        };
    }

    private static String text(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Restore restore ->
                "a lookup restores the entry of "
                        + (restore.tier().equals("local")
                                ? "the local tier"
                                : restore.tier() + ", and stores it in the local tier");
            case Outcome.Compile(String reason) -> "a lookup compiles: " + reason;
            case Outcome.Wait wait ->
                "a lookup waits for the other process, at most " + Units.time(wait.limit())
                        + "; otherwise " + text(wait.otherwise());
        };
    }
}
