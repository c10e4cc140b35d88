package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** A catalog with a configurable result for each entry. Not thread-safe. */
public final class FakeCatalog implements EntryCatalog {
    private static final long BYTES = 1000;

    private final Map<Listed, LoadResult> results = new LinkedHashMap<>();

    /** Adds a sound entry. */
    public Listed add(Entry entry) {
        return add(entry.id().target().path(), entry.id().hash(), new LoadResult.Hit(entry));
    }

    /** Adds an entry with the given result of reading. */
    public Listed add(String namespace, Sha256 hash, LoadResult result) {
        Listed listed = new Listed(namespace, hash, BYTES, 1_700_000_000_000L + results.size());
        results.put(listed, result);
        return listed;
    }

    /** Returns all entries in the order of addition. */
    public List<Listed> all() {
        return List.copyOf(results.keySet());
    }

    /** Returns all entries of a catalogue, most recently used first. */
    public static List<Listed> entries(EntryCatalog catalog) throws IOException {
        List<Listed> entries = new ArrayList<>();
        catalog.list(entries::add);
        entries.sort(Comparator.comparingLong(Listed::lastUsedMillis).reversed());
        return entries;
    }

    @Override
    public void list(Consumer<Listed> visitor) {
        results.keySet().forEach(visitor);
    }

    @Override
    public LoadResult read(Listed listed) {
        return results.getOrDefault(listed, LoadResult.ABSENT);
    }
}
