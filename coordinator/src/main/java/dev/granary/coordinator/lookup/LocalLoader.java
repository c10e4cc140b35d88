package dev.granary.coordinator.lookup;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.stores.CountingCache;

import org.jspecify.annotations.Nullable;

/**
 * Loader of one lookup from the local tier. A lookup may load several times: for each namespace,
 * and repeatedly while it waits for another process. All loads are counted as one result: the
 * latest hit, else the first. Used by one thread.
 */
final class LocalLoader {
    private final CountingCache local;
    private @Nullable LoadResult result; // to be counted
    private @Nullable EventSpan span; // of its load
    private long nanos; // of all loads

    LocalLoader(CountingCache local) {
        this.local = local;
    }

    /** Loads the entry of {@code id}. */
    LoadResult load(Id id) {
        EventSpan latestSpan = local.beginLoad();
        long start = System.nanoTime();
        LoadResult latest = local.cache().load(id);
        nanos += System.nanoTime() - start;
        if (result == null || latest instanceof LoadResult.Hit) {
            result = latest;
            span = latestSpan;
            latestSpan.stop();
        }
        return latest;
    }

    /** Counts the loads so far as a load of {@code id}, and dispatches its event. */
    void count(Id id) {
        if (result != null && span != null) {
            local.count(id, result, nanos, span);
        }
    }
}
