package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.ObjectStore;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Tells which entries the packs of one manifest have. An index is read when an id is asked for that it may have, and once. For one thread.
 *
 * <p>In memory is each index that was read: 56 bytes for each of its entries.
 */
public final class PackedIdFinder {
    private final PackManifest manifest;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final ObjectStore store;
    private final List<PackIndex> indexes = new ArrayList<>();
    private final Set<Sha256> requested = new HashSet<>();

    /**
     * The entries in the packs of a manifest.
     *
     * @param indexCache where indexes may be taken from; {@link PackIndexCache#NONE}: from the bucket alone
     */
    public PackedIdFinder(PackManifest manifest, TargetLayout keys, PackIndexCache indexCache, ObjectStore store) {
        this.manifest = manifest;
        this.keys = keys;
        this.indexCache = indexCache;
        this.store = store;
    }

    /** True if the index of a pack has the id; false also if an index that may have it cannot be read. */
    public boolean contains(Sha256 id) {
        for (PackInfo pack : manifest.packs()) {
            if (pack.filter().mayContain(id) && requested.add(pack.name())
                    && TargetPackReader.fetchIndex(pack, keys, indexCache, store) instanceof TargetPackReader.IndexResult.Ok ok) {
                indexes.add(ok.index());
            }
        }
        return indexes.stream().anyMatch(index -> index.find(id).isPresent());
    }
}
