package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A bucket whose lookups block until the test provides a result or an error. It stores nothing.
 * Thread-safe.
 */
public final class GateBucket implements PersistentCache {
    public final BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
    public final BlockingQueue<Id> requested = new LinkedBlockingQueue<>();

    /** Answers {@code times} lookups, waiting or later ones. */
    public void answer(int times) {
        for (int i = 0; i < times; i++) {
            answers.add(LoadResult.ABSENT);
        }
    }

    @Override
    public LoadResult load(Id id) {
        requested.add(id);
        try {
            Object answer = answers.take();
            if (answer instanceof Error error) {
                throw error;
            }
            return (LoadResult) answer;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public StoreResult store(Entry entry) {
        return new StoreResult.Failed("not supported by this fake");
    }

    @Override
    public void discard(Entry entry) {}

    @Override
    public void close() {}
}
