package dev.granary.s3.pack.listing;

import dev.granary.cache.EntryCatalog;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.register.Register;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;

import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/** Lists the entries in the packs of one target, for tools. */
public final class PackListing {
    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final Register register;

    public PackListing(
            ObjectStore store, TargetLayout keys, PackIndexCache indexCache, Register register) {
        this.store = store;
        this.keys = keys;
        this.indexCache = indexCache;
        this.register = register;
    }

    /**
     * Passes every entry of the packs to {@code visitor}, once. A missing or damaged pack has none.
     *
     * @param listed the entries that were listed before; those that this call lists are added
     * @param writtenMillis the time at which each pack was written, by its key, in milliseconds
     *     since 1970; 0 if unknown
     * @throws IOException if the bucket cannot be read
     */
    public void list(
            ListedEntrySet listed,
            Map<String, Long> writtenMillis,
            Consumer<EntryCatalog.Listed> visitor)
            throws IOException {
        for (PackInfo pack : register.packs()) {
            long written = writtenMillis.getOrDefault(keys.pack(pack.name()), 0L);
            switch (PackIndexReader.read(pack, keys, indexCache, store)) {
                case PackIndexReader.IndexResult.Ok(PackIndex index) -> {
                    if (written == 0
                            && !(store.head(keys.pack(pack.name())) instanceof HeadResult.Found)) {
                        continue; // the index came from the local cache
                    }
                    for (PackLocation location : index.locations()) {
                        if (listed.add(keys.namespace(), location.id())) {
                            visitor.accept(new EntryCatalog.Listed(
                                    keys.namespace(), location.id(), location.length(), written));
                        }
                    }
                }
                case PackIndexReader.IndexResult.Lost _ -> {}
                case PackIndexReader.IndexResult.Unavailable(String cause) ->
                    throw new IOException("The index of a pack cannot be read: " + cause);
            }
        }
    }
}
