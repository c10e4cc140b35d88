package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.event.GranaryListener.PublicationListener;
import dev.granary.gpu.spirv.IntermediateDescriptor;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Results of publishing, by id. Thread-safe. */
final class Publications implements PublicationListener {
    private final Map<Id, StoreResult> results = new ConcurrentHashMap<>();

    @Override
    public void published(String layer, Id id, StoreResult result) {
        results.put(id, result);
    }

    /** Returns true if a bucket has confirmed that it has the entry. */
    boolean isConfirmed(Id id) {
        return isAnswered(id) && failure(id).isEmpty();
    }

    boolean isAnswered(Id id) {
        return results.containsKey(id);
    }

    /** Returns the cause why an entry was not published; empty if it was, or is unanswered. */
    Optional<String> failure(Id id) {
        return switch (results.get(id)) {
            case StoreResult.Refused refused -> Optional.of(refused.reason());
            case StoreResult.Failed failed -> Optional.of(failed.cause());
            case StoreResult.Unknown unknown -> Optional.of(unknown.cause());
            case null -> Optional.empty();
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ ->
                Optional.empty();
        };
    }

    /** Returns the ids of the intermediate programs that this process has compiled. */
    List<Id> intermediate() {
        return results.keySet().stream()
                .filter(IntermediateDescriptor::isIntermediate)
                .toList();
    }

    /** Returns the number of entries with such a result. */
    long count(Class<? extends StoreResult> kind) {
        return results.values().stream().filter(kind::isInstance).count();
    }

    long failed() {
        return results.keySet().stream().filter(id -> failure(id).isPresent()).count();
    }

    /** Returns each cause of failure, with one id as an example. */
    Map<String, Id> causes() {
        Map<String, Id> causes = new TreeMap<>();
        results.keySet().forEach(id -> failure(id).ifPresent(cause -> causes.put(cause, id)));
        return causes;
    }
}
