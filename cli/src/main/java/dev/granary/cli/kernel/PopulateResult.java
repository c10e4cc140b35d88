package dev.granary.cli.kernel;

import com.google.gson.JsonObject;

import dev.granary.cache.Id;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The result of {@code populate}: the kernels, and the intermediate programs compiled for them,
 * that the bucket has afterwards or lacks. Not thread-safe.
 */
final class PopulateResult {
    private final BucketConfig target;
    private final int uploadLimit;
    private final PublishResults published;
    private final Set<Id> expected = new LinkedHashSet<>(); // all that the bucket should have
    private final Set<Id> pending = new LinkedHashSet<>(); // not answered within the limit
    private final Set<Id> toReadBack = new LinkedHashSet<>(); // acknowledged, or found there
    private final Map<String, String> notCacheable = new TreeMap<>();
    private final List<KernelRunner.Result> results;
    private Map<Id, String> unreadable = Map.of();

    /**
     * Creates the result.
     *
     * @param position the position of the target in the order of lookups
     * @param outcome the outcome of a tuning that was published too
     */
    PopulateResult(
            BucketConfig target,
            int position,
            int uploadLimit,
            PublishResults published,
            List<KernelRunner.Result> results,
            Optional<Id> outcome) {
        this.target = target;
        this.uploadLimit = uploadLimit;
        this.published = published;
        this.results = List.copyOf(results);
        List<KernelRunner.Result.Obtained> allObtained = results.stream()
                .filter(KernelRunner.Result.Obtained.class::isInstance)
                .map(KernelRunner.Result.Obtained.class::cast)
                .toList();
        for (KernelRunner.Result.Obtained obtained : allObtained) {
            Id id = obtained.descriptor().getId();
            if (id.isEmpty()) {
                notCacheable.put(obtained.name(), id.reason());
            } else {
                expected.add(id);
            }
        }
        expected.addAll(published.intermediate());
        outcome.ifPresent(expected::add);
        for (Id id : expected) {
            switch (published.state(id)) {
                case DONE -> toReadBack.add(id);
                case FAILED -> {}
                case UNANSWERED -> pending.add(id);
            }
        }
        // An entry from the target was not published by this process; it is only read back.
        allObtained.stream()
                .filter(obtained -> obtained.layer().orElse(-1) == position)
                .map(obtained -> obtained.descriptor().getId())
                .forEach(id -> {
                    if (pending.remove(id)) {
                        toReadBack.add(id);
                    }
                });
    }

    /** Returns the ids that the bucket has by its answers, which reading them back verifies. */
    Set<Id> toReadBack() {
        return toReadBack;
    }

    /** Reads back {@link #toReadBack}, and records what cannot be read. */
    void readBack(ReadbackVerifier readback, ProgressLine progress)
            throws ConfigException, InterruptedException {
        unreadable = readback.unreadable(
                toReadBack,
                read -> progress.passing(
                        Units.count(read) + " of " + Units.count(toReadBack.size())));
    }

    /** Returns true if every kernel, and all else that was published, can be read back. */
    boolean isComplete() {
        return outcomes().keySet().stream().allMatch(PopulateOutcome::isSuccess)
                && toReadBack.containsAll(expected)
                && unreadable.isEmpty();
    }

    /** Returns the number of kernels by outcome, without outcomes of no kernel. */
    Map<PopulateOutcome, Integer> outcomes() {
        Map<PopulateOutcome, Integer> counts = new EnumMap<>(PopulateOutcome.class);
        results.forEach(result -> counts.merge(outcome(result), 1, Integer::sum));
        return counts;
    }

    private PopulateOutcome outcome(KernelRunner.Result result) {
        return switch (result) {
            case KernelRunner.Result.Failed failed ->
                switch (failed.kind()) {
                    case UNREADABLE -> PopulateOutcome.UNREADABLE;
                    case COMPILE -> PopulateOutcome.FAILED_TO_COMPILE;
                    case CRASHED -> PopulateOutcome.CRASHED;
                    case TIMED_OUT -> PopulateOutcome.TIMED_OUT;
                    case INCOMPATIBLE -> PopulateOutcome.INCOMPATIBLE;
                    case INTERNAL -> PopulateOutcome.INTERNAL_ERROR;
                };
            case KernelRunner.Result.Obtained obtained -> {
                Id id = obtained.descriptor().getId();
                if (id.isEmpty()) {
                    yield PopulateOutcome.NOT_CACHEABLE;
                }
                if (!toReadBack.contains(id)) {
                    yield PopulateOutcome.NOT_STORED;
                }
                if (unreadable.containsKey(id)) {
                    yield PopulateOutcome.NOT_READ_BACK;
                }
                yield switch (obtained.source()) {
                    case COMPILED -> PopulateOutcome.COMPILED;
                    case LOCAL, BUCKET ->
                        published.isStored(id) ? PopulateOutcome.RESTORED : PopulateOutcome.PRESENT;
                    case MEMORY, JOINED -> PopulateOutcome.SAME_AS_ANOTHER;
                };
            }
        };
    }

    /** Returns the numbers of {@link #outcomes} as JSON, with every outcome. */
    JsonObject outcomesJson() {
        Map<PopulateOutcome, Integer> counts = outcomes();
        JsonObject json = new JsonObject();
        for (PopulateOutcome outcome : PopulateOutcome.values()) {
            json.addProperty(outcome.key(), counts.getOrDefault(outcome, 0));
        }
        return json;
    }

    /** Prints the numbers of {@link #outcomes} as a table. */
    void printOutcomes(PrintWriter out) {
        TextTable table = new TextTable("outcome", "kernels");
        outcomes().forEach((outcome, count) -> table.row(outcome.words(), Units.count(count)));
        table.print(out);
    }

    /**
     * Returns a summary, such as {@code s3://kernels/team-a: 3 published, 2 there already, 0
     * failed}.
     */
    String summary() {
        return target.location() + ": " + published.stored() + " published, " + published.present()
                + " there already, " + published.failed() + " failed"
                + (pending.isEmpty() ? "" : ", " + pending.size() + " pending")
                + (unreadable.isEmpty()
                        ? ""
                        : ", " + unreadable.size() + " of them cannot be read");
    }

    /** Returns the numbers of ids by their state in the bucket, as JSON. */
    JsonObject json() {
        return JsonOutput.object(
                "stored",
                published.stored(),
                "present",
                published.present(),
                "failed",
                published.failed(),
                "pending",
                pending.size(),
                "unreadable",
                unreadable.size(),
                "notCacheable",
                notCacheable.size(),
                "readBack",
                toReadBack.size() - unreadable.size());
    }

    /** Prints each cause of a missing entry once, with an example, and the remedy. */
    void printProblems(PrintWriter err, Path directory) {
        published
                .causes()
                .forEach(
                        (cause, id) -> err.println("granary: not published: " + id + ": " + cause));
        if (!pending.isEmpty()) {
            err.println("granary: not published: " + Units.plural(pending.size(), "entry")
                    + ": no answer from " + target.name() + " within " + uploadLimit
                    + " s (--upload-limit)");
        }
        Map<String, Id> examples = new TreeMap<>();
        unreadable.forEach((id, cause) -> examples.putIfAbsent(cause, id));
        examples.forEach((cause, id) ->
                err.println("granary: published, but cannot be read back: " + id + ": " + cause));
        notCacheable.forEach((kernel, reason) ->
                err.println("granary: not cacheable: " + kernel + ": " + reason));
        if (toReadBack.size() < expected.size() || !unreadable.isEmpty()) {
            err.println("granary: all kernels that compiled are in " + directory
                    + "; remove the cause and populate again, which"
                    + " uploads them without compiling.");
        }
        err.flush();
    }
}
