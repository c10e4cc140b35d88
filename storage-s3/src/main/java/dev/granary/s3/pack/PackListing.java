package dev.granary.s3.pack;

import dev.granary.cache.Catalog;
import dev.granary.s3.store.ObjectStore;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/** Tells which entries the packs of one target have, for tools. */
public final class PackListing {
    private final ObjectStore store;
    private final PackKeys keys;
    private final IndexShelf shelf;
    private final ManifestLog log;

    PackListing(ObjectStore store, PackKeys keys, IndexShelf shelf, ManifestLog log) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
        this.log = log;
    }

    /**
     * Hands over every entry that a pack has, once. A pack that is missing or damaged has none.
     *
     * @param told entries that are told already; those that this hands over are added
     * @param writtenMillis when each pack was written, by its key, in milliseconds since 1970; 0 where that is not known
     * @throws IOException if the bucket cannot be read
     */
    public void list(ToldEntries told, Map<String, Long> writtenMillis, Consumer<Catalog.Listed> visitor) throws IOException {
        Manifest manifest = switch (log.newest(Manifest.NONE)) {
            case ManifestLog.Newest.Found found -> found.manifest();
            case ManifestLog.Newest.Unavailable lost -> throw new IOException("The manifest of packs cannot be read: " + lost.cause());
        };
        for (PackInfo pack : manifest.packs()) {
            long written = writtenMillis.getOrDefault(keys.pack(pack.name()), 0L);
            switch (TargetPacks.fetchIndex(pack, keys, shelf, store)) {
                case TargetPacks.Indexed.Ok ok -> {
                    if (written == 0 && TargetPacks.presence(pack, keys, store) == TargetPacks.Presence.GONE) {
                        continue; // the index is one that this machine has kept
                    }
                    for (Place place : ok.index().places()) {
                        if (told.add(keys.namespace(), place.id())) {
                            visitor.accept(new Catalog.Listed(keys.namespace(), place.id(), place.length(), written));
                        }
                    }
                }
                case TargetPacks.Indexed.Forbidden forbidden when written > 0 -> // the listing shows it
                    throw new IOException("The index of a pack cannot be read: " + forbidden.failure());
                case TargetPacks.Indexed.Lost _, TargetPacks.Indexed.Forbidden _, TargetPacks.Indexed.Newer _ -> {}
                case TargetPacks.Indexed.Unsaid unsaid -> throw new IOException("The index of a pack cannot be read: " + unsaid.failure());
            }
        }
    }
}
