package dev.granary.cache;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.function.Consumer;

/**
 * An optional interface of a {@link PersistentCache} that lists its entries. It is for tools, not
 * for lookups: its methods may take time proportional to the number of entries.
 */
public interface EntryCatalog {
    /**
     * An entry as listed by the store, without its content.
     *
     * @param namespace backend and target name, as returned by {@link Target#path()}
     * @param hash the {@link Id#hash()} of the entry
     * @param bytes its stored length in bytes
     * @param lastUsedMillis the time of its last store or use, in milliseconds since 1970, by the
     *     store's clock
     */
    record Listed(String namespace, Sha256 hash, long bytes, long lastUsedMillis) {}

    /**
     * Passes every entry to {@code visitor}, in no particular order. Entries stored or removed
     * meanwhile may be included or not.
     *
     * @throws IOException if the store cannot be read, with the reason
     */
    void list(Consumer<Listed> visitor) throws IOException;

    /** Reads and verifies a listed entry whose id is not known. */
    LoadResult read(Listed listed);

    /**
     * Reads a listed entry that is used only until {@code memory} is closed; see
     * {@link PersistentCache#load(Id, Arena)}.
     */
    default LoadResult read(Listed listed, Arena memory) {
        return read(listed);
    }
}
