package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** A catalog that says of each entry what it is told to. Not thread-safe. */
public final class FakeCatalog implements EntryCatalog {
    private static final long BYTES = 1000;

    private final Map<Listed, LoadResult> results = new LinkedHashMap<>();

    /** A sound entry. */
    public Listed add(Entry entry) {
        return add(entry.id().target().path(), entry.id().hash(), new LoadResult.Hit(entry));
    }

    /** An entry under that name, of which reading says that. */
    public Listed add(String namespace, Sha256 hash, LoadResult result) {
        Listed listed = new Listed(namespace, hash, BYTES, 1_700_000_000_000L + results.size());
        results.put(listed, result);
        return listed;
    }

    /** All entries, in the order in which they were added. */
    public List<Listed> all() {
        return List.copyOf(results.keySet());
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
