package dev.granary.benchmarks.local.store;

import dev.granary.cache.Id;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A store with a capacity. If the store itself does not evict, the least recently used entry is
 * removed, by a list in memory. Not thread-safe.
 */
public final class CapacityBoundedStore implements AutoCloseable {
    private final CandidateStore store;
    private final CandidateStore.Reader reader;
    private final boolean evictsItself;
    private final long capacity;
    private final LinkedHashMap<Id, Integer> byUse = new LinkedHashMap<>(1024, 0.75f, true);
    private final Map<Id, Integer> lengths = new LinkedHashMap<>();
    private long used;
    private long gets;
    private long hits;

    public CapacityBoundedStore(StoreCandidate owner, CandidateStore store, long capacity)
            throws IOException {
        this.store = store;
        this.reader = store.reader(owner);
        this.evictsItself = owner.evicts();
        this.capacity = capacity;
    }

    public void put(WorkloadItem item) throws IOException {
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

    public void get(Id id) throws IOException {
        gets++;
        if (reader.get(id) != CandidateStore.Reader.ABSENT) {
            hits++;
            byUse.get(id); // records the use
        }
    }

    /** Returns the bytes of the frames that are still in the store. */
    public long liveBytes() throws IOException {
        return store.liveBytes(lengths);
    }

    /** Returns the part of the lookups that hit, in percent. */
    public double hitPercent() {
        return 100.0 * hits / gets;
    }

    @Override
    public void close() throws IOException {
        reader.close();
        store.close();
    }
}
