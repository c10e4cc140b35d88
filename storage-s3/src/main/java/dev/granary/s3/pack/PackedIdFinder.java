package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.store.ObjectStore;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Finder of ids in the packs of one manifest. The index of a pack is read once, when an id that it
 * may have is looked up. For one thread.
 *
 * <p>Memory holds each index that was read: 56 bytes for each of its entries.
 */
public final class PackedIdFinder {
    private final PackManifest manifest;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final ObjectStore store;
    private final List<PackIndex> indexes = new ArrayList<>();
    private final Set<Sha256> requested = new HashSet<>();

    /**
     * Creates a finder for the packs of a manifest.
     *
     * @param indexCache cache of indexes; {@link PackIndexCache#NONE} to read them from the bucket
     *     only
     */
    public PackedIdFinder(
            PackManifest manifest,
            TargetLayout keys,
            PackIndexCache indexCache,
            ObjectStore store) {
        this.manifest = manifest;
        this.keys = keys;
        this.indexCache = indexCache;
        this.store = store;
    }

    /**
     * Returns true if the index of a pack has the id; false also if an index that may have it
     * cannot be read.
     */
    public boolean contains(Sha256 id) {
        for (PackInfo pack : manifest.packs()) {
            if (pack.filter().mayContain(id)
                    && requested.add(pack.name())
                    && PackIndexReader.read(pack, keys, indexCache, store)
                            instanceof PackIndexReader.IndexResult.Ok ok) {
                indexes.add(ok.index());
            }
        }
        return indexes.stream().anyMatch(index -> index.find(id).isPresent());
    }
}
