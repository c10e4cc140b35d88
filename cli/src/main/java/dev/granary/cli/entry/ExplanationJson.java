package dev.granary.cli.entry;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cli.key.KeyDifference;
import dev.granary.cli.key.KeyText;
import dev.granary.cli.key.NearestEntry;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.IntermediateOutcome;
import dev.granary.coordinator.admin.LookupExplanation;
import dev.granary.coordinator.admin.LookupExplanation.Outcome;
import dev.granary.coordinator.admin.LookupExplanation.Result;
import dev.granary.coordinator.admin.LookupExplanation.TierAnswer;
import dev.granary.coordinator.admin.TierVerifier;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The explanation of a lookup as JSON. */
final class ExplanationJson {
    private ExplanationJson() {}

    /** Returns the object of an explanation. */
    static JsonObject of(
            LookupExplanation explanation,
            Optional<IntermediateOutcome> intermediate,
            Optional<NearestEntry> nearest) {
        Id id = explanation.id();
        JsonArray answers = new JsonArray();
        explanation.answers().forEach(answer -> answers.add(of(answer)));
        return JsonOutput.object(
                "id",
                id.isEmpty()
                        ? JsonNull.INSTANCE
                        : JsonOutput.object("hash", id.hash().hex()).get("hash"),
                "key",
                key(id),
                "namespaces",
                JsonOutput.strings(
                        explanation.namespaces().stream().map(Target::path).toList()),
                "answers",
                answers,
                "claim",
                explanation
                        .claim()
                        .<JsonElement>map(claim -> JsonOutput.object(
                                "state", name(claim.state()), "detail", claim.detail()))
                        .orElse(JsonNull.INSTANCE),
                "outcome",
                of(explanation.outcome()),
                "intermediate",
                intermediate.<JsonElement>map(ExplanationJson::of).orElse(JsonNull.INSTANCE),
                "nearest",
                nearest.<JsonElement>map(ExplanationJson::of).orElse(JsonNull.INSTANCE));
    }

    private static JsonArray key(Id id) {
        JsonArray fields = new JsonArray();
        if (!id.isEmpty()) {
            id.fields()
                    .forEach(field -> fields.add(
                            JsonOutput.object("name", field.name(), "value", KeyText.of(field))));
        }
        return fields;
    }

    private static JsonObject of(TierAnswer answer) {
        JsonObject object = JsonOutput.object(
                "tier", answer.tier(), "namespace", answer.namespace().path());
        switch (answer.result()) {
            case Result.Usable usable -> {
                object.addProperty("answer", "hit");
                addEntry(object, usable.entry(), usable.place());
                boolean isCompatible =
                        usable.compatibility() instanceof BinaryCompatibility.Compatible;
                object.addProperty("compatibility", isCompatible ? "compatible" : "undetermined");
                object.addProperty("reason", usable.compatibility().reason());
            }
            case Result.Quarantined quarantined -> {
                object.addProperty("answer", "quarantined");
                addEntry(object, quarantined.entry(), quarantined.place());
                object.addProperty("reason", quarantined.reason());
            }
            case Result.Incompatible incompatible -> {
                object.addProperty("answer", "incompatible");
                addEntry(object, incompatible.entry(), incompatible.place());
                object.addProperty("compatibility", "incompatible");
                object.addProperty("reason", incompatible.reason());
            }
            case Result.Absent(String place) -> {
                object.addProperty("answer", "absent");
                object.addProperty("place", place);
            }
            case Result.Damaged damaged -> {
                object.addProperty("answer", "damaged");
                object.addProperty("damage", TierVerifier.name(damaged.kind()));
                object.addProperty("reason", damaged.detail());
            }
            case Result.Unavailable(String cause) -> {
                object.addProperty("answer", "unavailable");
                object.addProperty("reason", cause);
            }
        }
        return object;
    }

    private static void addEntry(JsonObject object, Entry entry, String place) {
        object.addProperty("place", place);
        object.addProperty("bytes", entry.binaries().byteSize());
        object.addProperty("compileMillis", Units.millis(entry.compileTime()));
        object.addProperty("contentSha256", entry.contentHash().hex());
        entry.metadata().ifPresent(metadata -> object.addProperty("producer", metadata.producer()));
    }

    private static JsonObject of(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Restore restore ->
                JsonOutput.object(
                        "kind",
                        "restore",
                        "tier",
                        restore.tier(),
                        "from",
                        restore.from().path());
            case Outcome.Compile(String reason) ->
                JsonOutput.object("kind", "compile", "reason", reason);
            case Outcome.Wait wait ->
                JsonOutput.object(
                        "kind",
                        "wait",
                        "limitMillis",
                        wait.limit().toMillis(),
                        "otherwise",
                        of(wait.otherwise()));
        };
    }

    private static JsonObject of(IntermediateOutcome outcome) {
        return switch (outcome) {
            case IntermediateOutcome.Stored stored ->
                JsonOutput.object(
                        "kind", "stored", "tier", stored.tier(), "frontEnd", stored.frontEnd());
            case IntermediateOutcome.Compiled(String frontEnd) ->
                JsonOutput.object("kind", "compiled", "frontEnd", frontEnd);
            case IntermediateOutcome.CompiledOnly _ -> JsonOutput.object("kind", "compiled-only");
            case IntermediateOutcome.Missing _ ->
                JsonOutput.object("kind", "missing", "reason", SpirvCompiler.REMEDY);
        };
    }

    private static JsonObject of(NearestEntry nearest) {
        return JsonOutput.object(
                "id", nearest.id().hash().hex(), "differences", differences(nearest.differences()));
    }

    /** Returns the differences of two keys. */
    static JsonArray differences(List<KeyDifference> differences) {
        JsonArray fields = new JsonArray();
        differences.forEach(difference -> fields.add(JsonOutput.object(
                "field",
                difference.field(),
                "a",
                JsonOutput.strings(difference.a()),
                "b",
                JsonOutput.strings(difference.b()))));
        return fields;
    }

    private static String name(LookupExplanation.ClaimState state) {
        return state.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
