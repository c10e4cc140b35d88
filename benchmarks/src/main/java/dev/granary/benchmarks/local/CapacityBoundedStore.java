package dev.granary.benchmarks.local;

import dev.granary.cache.Id;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A store with a capacity. If the store itself does not evict, the least recently used entry is
 * removed, by a list in memory. Not thread-safe.
 */
final class CapacityBoundedStore implements AutoCloseable {
    private final CandidateStore store;
    private final CandidateStore.Reader reader;
    private final boolean evictsItself;
    private final long capacity;
    private final LinkedHashMap<Id, Integer> byUse = new LinkedHashMap<>(1024, 0.75f, true);
    private final Map<Id, Integer> lengths = new LinkedHashMap<>();
    private long used;
    private long gets;
    private long hits;

    CapacityBoundedStore(StoreCandidate owner, CandidateStore store, long capacity)
            throws IOException {
        this.store = store;
        this.reader = store.reader(owner);
        this.evictsItself = owner.evicts();
        this.capacity = capacity;
    }

    void put(WorkloadItem item) throws IOException {
        int length = item.frame().length;
        lengths.put(item.id(), length);
        store.put(item);
        if (evictsItself) {
            return;
        }
        byUse.put(item.id(), length);
        used += length;
        while (used > capacity) {
            Map.Entry<Id, Integer> oldest = Objects.requireNonNull(byUse.pollFirstEntry());
            store.remove(oldest.getKey());
            used -= oldest.getValue();
        }
    }

    void get(Id id) throws IOException {
        gets++;
        if (reader.get(id) != CandidateStore.Reader.ABSENT) {
            hits++;
            byUse.get(id); // records the use
        }
    }

    /** Returns the bytes of the frames that still hit. */
    long liveBytes() throws IOException {
        return store.liveBytes(lengths);
    }

    /** Returns the part of the lookups that hit, in percent. */
    double hitPercent() {
        return 100.0 * hits / gets;
    }

    @Override
    public void close() throws IOException {
        reader.close();
        store.close();
    }
}
