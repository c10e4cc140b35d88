package dev.granary.coordinator.admin;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.coordinator.stores.LocalTierFactory;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.s3.BucketTier;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Inventory of one tier, for the tools {@code ls}, {@code inspect} and {@code stats}. Not
 * thread-safe.
 */
public final class TierInventory implements AutoCloseable {
    private final PersistentCache cache;
    private final EntryCatalog catalog;
    private final String name;
    private final SilenceMonitor waits = new SilenceMonitor();

    private <T extends PersistentCache & EntryCatalog> TierInventory(T tier, String name) {
        this.cache = tier;
        this.catalog = tier;
        this.name = name;
    }

    /**
     * Opens the local tier without eviction.
     *
     * @throws ConfigException if its directory cannot be used
     */
    public static TierInventory ofLocal(GranaryConfig config) throws ConfigException {
        return new TierInventory(
                LocalTierFactory.openWithoutEviction(config), config.directory().toString());
    }

    /**
     * Opens {@code bucket}.
     *
     * @throws ConfigException if it cannot be opened as configured
     */
    public static TierInventory ofBucket(BucketConfig bucket) throws ConfigException {
        BucketTier tier = BucketTierFactory.open(bucket, Optional.empty());
        TierInventory inventory = new TierInventory(tier, bucket.name());
        inventory.waits.watch(bucket.name(), tier.traffic()::quiet);
        return inventory;
    }

    /** Returns the monitor of the bucket that this inventory may wait for. */
    public SilenceMonitor waits() {
        return waits;
    }

    /** Returns the location of the tier. */
    public String name() {
        return name;
    }

    /**
     * Passes each entry to {@code visitor} once, in no particular order and without collecting
     * them. An exception of the visitor ends the listing.
     *
     * @throws IOException if the tier cannot be listed
     */
    public void list(Consumer<EntryCatalog.Listed> visitor) throws IOException {
        catalog.list(visitor);
    }

    /**
     * Returns all entries, most recently used first. A bucket may have more entries than fit into
     * memory; see {@link #list}.
     *
     * @throws IOException if the tier cannot be listed
     */
    public List<EntryCatalog.Listed> entries() throws IOException {
        return entries(catalog);
    }

    /**
     * Returns all entries of a catalog, most recently used first. For a catalog that fits into
     * memory, such as that of the local tier.
     *
     * @throws IOException if the catalog cannot be listed
     */
    public static List<EntryCatalog.Listed> entries(EntryCatalog catalog) throws IOException {
        List<EntryCatalog.Listed> entries = new ArrayList<>();
        catalog.list(entries::add);
        entries.sort(
                Comparator.comparingLong(EntryCatalog.Listed::lastUsedMillis).reversed());
        return entries;
    }

    /** Reads and verifies an entry, which is valid as long as {@code memory} is open. */
    public LoadResult read(EntryCatalog.Listed listed, Arena memory) {
        return EntryVerifier.read(catalog, listed, memory);
    }

    @Override
    public void close() {
        cache.close();
    }
}
