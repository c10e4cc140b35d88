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
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.lookup.Explainer;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The explanation of a lookup as JSON. */
final class ExplanationJson {
    private ExplanationJson() {}

    /** Returns the object of an explanation. */
    static JsonObject of(ExplainCommand.Explained explained, Optional<NearestEntry> nearest) {
        Id id = explained.id();
        Explainer.Explanation explanation = explained.explanation();
        JsonArray steps = new JsonArray();
        explanation.events().forEach(event -> step(event).ifPresent(steps::add));
        return JsonOutput.object(
                "id",
                id.isEmpty()
                        ? JsonNull.INSTANCE
                        : JsonOutput.object("hash", id.hash().hex()).get("hash"),
                "key",
                key(id),
                "steps",
                steps,
                "entry",
                explanation
                        .entry()
                        .<JsonElement>map(entry -> of(entry, explained.target()))
                        .orElse(JsonNull.INSTANCE),
                "waitLimitMillis",
                explanation.waitLimit().map(Duration::toMillis).orElse(0L),
                "outcome",
                explained.outcome(),
                "nearest",
                nearest.<JsonElement>map(ExplanationJson::of).orElse(JsonNull.INSTANCE));
    }

    /** Returns an event of the lookup; empty for those after it. */
    private static Optional<JsonObject> step(GranaryEvent event) {
        return switch (event) {
            case GranaryEvent.Load load ->
                Optional.of(
                        step("load", load.id(), load.tier(), load.outcome().name(), load.cause()));
            case GranaryEvent.Restore restore ->
                Optional.of(step(
                        "restore",
                        restore.id(),
                        restore.tier(),
                        restore.outcome().name(),
                        restore.cause()));
            case GranaryEvent.Wait wait ->
                Optional.of(step("wait", wait.id(), "", "taken", Optional.empty()));
            case GranaryEvent.Compile compile ->
                Optional.of(step(
                        "compile",
                        compile.id(),
                        "",
                        compile.failure().isEmpty() ? "compiled" : "failed",
                        compile.failure()));
            case GranaryEvent.Lookup _,
                    GranaryEvent.Store _,
                    GranaryEvent.Upload _,
                    GranaryEvent.Eviction _ -> Optional.empty();
        };
    }

    private static JsonObject step(
            String kind, String id, String tier, String outcome, Optional<String> cause) {
        return JsonOutput.object(
                "step",
                kind,
                "id",
                id,
                "tier",
                tier,
                "outcome",
                outcome.toLowerCase(Locale.ROOT),
                "cause",
                cause.orElse(""));
    }

    private static JsonObject of(Entry entry, Target target) {
        JsonObject object = JsonOutput.object(
                "namespace",
                entry.id().target().path(),
                "bytes",
                entry.binaries().byteSize(),
                "compileMillis",
                Units.millis(entry.compileTime()),
                "contentSha256",
                entry.contentHash().hex());
        entry.metadata().ifPresent(metadata -> object.addProperty("producer", metadata.producer()));
        BinaryCompatibility judged = CompatibilityChecker.check(target, entry.binaries());
        object.addProperty(
                "compatibility",
                judged instanceof BinaryCompatibility.Compatible ? "compatible" : "undetermined");
        object.addProperty("reason", judged.reason());
        return object;
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
}
