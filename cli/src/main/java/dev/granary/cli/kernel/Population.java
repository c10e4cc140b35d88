package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The entries that {@code populate} should have published: those of the kernels, and of the
 * intermediate programs compiled for them. Not thread-safe.
 */
final class Population {
    private final BucketConfig target;
    private final Publications published;
    private final List<KernelResult> obtained;
    private final Set<Id> expected = new LinkedHashSet<>();
    private final Set<Id> confirmed = new LinkedHashSet<>(); // acknowledged, or found there
    private final long present;
    private final long pending;
    private Map<Id, String> unreadable = Map.of();

    /** Creates it; {@code position} is that of the bucket in the order of lookups. */
    Population(
            BucketConfig target,
            int position,
            Publications published,
            List<KernelResult> obtained) {
        this.target = target;
        this.published = published;
        this.obtained = obtained;
        obtained.forEach(result -> result.entry().ifPresent(expected::add));
        expected.addAll(published.intermediate());
        expected.stream().filter(published::isConfirmed).forEach(confirmed::add);
        // an entry from the bucket was not published by this process; it is only read back
        Set<Id> found = obtained.stream()
                .filter(result -> result.layer().orElse(-1) == position)
                .flatMap(result -> result.entry().stream())
                .filter(id -> !published.isAnswered(id))
                .collect(Collectors.toSet());
        confirmed.addAll(found);
        this.present = published.present() + found.size();
        this.pending = expected.stream()
                .filter(id -> !confirmed.contains(id) && !published.isAnswered(id))
                .count();
    }

    /** Returns the number of entries that are read back: all that the bucket has confirmed. */
    int toReadBack() {
        return confirmed.size();
    }

    void readBack(ReadbackVerifier readback, ProgressLine progress)
            throws ConfigException, InterruptedException {
        unreadable = readback.unreadable(
                confirmed,
                read -> progress.passing(Units.count(read) + " of " + Units.count(toReadBack())));
    }

    /** Returns true if every kernel, and all else that was published, can be read back. */
    boolean isComplete() {
        return results().stream().allMatch(result -> result.outcome().isSuccess())
                && confirmed.containsAll(expected)
                && unreadable.isEmpty();
    }

    /** Returns the ids of the entries that are read back. */
    Set<Id> expected() {
        return Set.copyOf(expected);
    }

    /** Returns the results of the kernels, with those of publishing. */
    List<KernelResult> results() {
        return obtained.stream().map(this::result).toList();
    }

    private KernelResult result(KernelResult result) {
        if (result.id().isEmpty()) {
            return result;
        }
        Id id = result.id().get();
        if (id.isEmpty()) {
            return result.failed(Outcome.NOT_CACHEABLE, result.failure());
        }
        if (!confirmed.contains(id)) {
            return result.failed(
                    Outcome.NOT_STORED, published.failure(id).orElse("the bucket did not answer"));
        }
        return unreadable.containsKey(id)
                ? result.failed(Outcome.NOT_READ_BACK, unreadable.get(id))
                : result;
    }

    /** Adds the numbers of entries, and each cause of a missing one once, with its remedy. */
    void addTo(Report report, int uploadLimit, String remedy) {
        report.data(
                "published",
                Map.of(
                        "stored", published.stored(),
                        "present", present,
                        "divergent", published.divergent(),
                        "failed", published.failed(),
                        "pending", pending,
                        "unreadable", unreadable.size(),
                        "readBack", confirmed.size() - unreadable.size()));
        report.line(target.address() + ": " + published.stored() + " published, "
                + present + " there already, " + published.failed() + " failed"
                + (published.divergent() == 0
                        ? ""
                        : ", " + published.divergent() + " there with other binaries")
                + (pending == 0 ? "" : ", " + pending + " pending")
                + (unreadable.isEmpty()
                        ? ""
                        : ", " + unreadable.size() + " of them cannot be read"));
        published
                .causes()
                .forEach((cause, id) -> report.problem("not published: " + id + ": " + cause));
        if (pending > 0) {
            report.problem("not published: " + Units.plural(pending, "entry") + ": no answer from "
                    + target.name() + " within " + uploadLimit + " s (--upload-limit)");
        }
        Map<String, Id> examples = new TreeMap<>();
        unreadable.forEach((id, cause) -> examples.putIfAbsent(cause, id));
        examples.forEach((cause, id) ->
                report.problem("published, but cannot be read back: " + id + ": " + cause));
        if (confirmed.size() < expected.size() || !unreadable.isEmpty()) {
            report.problem(remedy);
        }
    }
}
