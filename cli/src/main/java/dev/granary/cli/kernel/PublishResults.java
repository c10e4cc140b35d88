package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.event.GranaryListener.PublicationListener;
import dev.granary.gpu.spirv.IntermediateDescriptor;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Results of publishing, by id. Thread-safe. */
final class PublishResults implements PublicationListener {
    private final Map<Id, StoreResult> results = new ConcurrentHashMap<>();

    @Override
    public void published(String layer, Id id, StoreResult result) {
        results.put(id, result);
    }

    /** The publishing state of one id. */
    enum State {
        /** A bucket has confirmed that it has the entry. */
        DONE,
        FAILED,
        UNANSWERED
    }

    State state(Id id) {
        return switch (results.get(id)) {
            case null -> State.UNANSWERED;
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ ->
                State.DONE;
            case StoreResult.Refused _, StoreResult.Failed _, StoreResult.Unknown _ -> State.FAILED;
        };
    }

    /** Returns true if this process has put the entry of an id into a bucket. */
    boolean isStored(Id id) {
        return results.get(id) instanceof StoreResult.Stored;
    }

    /** Returns the ids of the intermediate programs that this process has compiled. */
    List<Id> intermediate() {
        return results.keySet().stream()
                .filter(IntermediateDescriptor::isIntermediate)
                .toList();
    }

    long stored() {
        return results.values().stream()
                .filter(StoreResult.Stored.class::isInstance)
                .count();
    }

    long present() {
        return results.values().stream()
                .filter(result -> result instanceof StoreResult.Duplicate
                        || result instanceof StoreResult.Divergent)
                .count();
    }

    long failed() {
        return results.size() - stored() - present();
    }

    /** Returns each cause of failure, with one id as an example. */
    Map<String, String> causes() {
        Map<String, String> causes = new TreeMap<>();
        results.forEach((id, result) -> {
            switch (result) {
                case StoreResult.Refused refused -> causes.put(refused.reason(), id.toString());
                case StoreResult.Failed failure -> causes.put(failure.cause(), id.toString());
                case StoreResult.Unknown unknown -> causes.put(unknown.cause(), id.toString());
                case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ -> {}
            }
        });
        return causes;
    }
}
