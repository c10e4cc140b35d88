package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.LogOnce;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/** One upload of an {@link UploadQueue} without a result so far. Guarded by the queue. */
final class PendingUpload {
    final Id id;
    final List<BiConsumer<Id, StoreResult>> listeners = new ArrayList<>();
    // null if it must be read from the local tier, and after it was sent
    @Nullable
    Entry entry;

    long bytes; // counted as memory of the queue
    boolean isInOutbox; // recorded for the next process
    boolean isReadable; // in the local tier
    boolean isStarted;

    PendingUpload(Id id) {
        this.id = id;
    }

    /**
     * Returns true if a result of an upload needs no later attempt: the bucket has the entry, or
     * refuses it for itself.
     */
    static boolean isSettled(StoreResult result) {
        return switch (result) {
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ -> true;
            case StoreResult.Refused refused -> refused.scope() == StoreResult.Scope.ENTRY;
            case StoreResult.Failed _, StoreResult.Unknown _ -> false;
        };
    }

    /** Notifies a listener of the result. Its failure does not concern the others. */
    void notifyListener(BiConsumer<Id, StoreResult> listener, StoreResult result) {
        try {
            listener.accept(id, result);
        } catch (Throwable e) {
            LogOnce.warn("listener", "The listener for published entries failed: " + e);
        }
    }
}
