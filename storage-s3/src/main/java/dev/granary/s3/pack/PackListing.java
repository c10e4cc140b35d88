package dev.granary.s3.pack;

import dev.granary.cache.EntryCatalog;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.ObjectStore;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/** Tells which entries the packs of one target have, for tools. */
public final class PackListing {
    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache shelf;
    private final PackManifestLog log;

    public PackListing(ObjectStore store, TargetLayout keys, PackIndexCache shelf, PackManifestLog log) {
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
    public void list(ListedEntrySet told, Map<String, Long> writtenMillis, Consumer<EntryCatalog.Listed> visitor) throws IOException {
        PackManifest manifest = switch (log.newest(PackManifest.NONE)) {
            case PackManifestLog.Newest.Found found -> found.manifest();
            case PackManifestLog.Newest.Unavailable lost -> throw new IOException("The manifest of packs cannot be read: " + lost.cause());
        };
        for (PackInfo pack : manifest.packs()) {
            long written = writtenMillis.getOrDefault(keys.pack(pack.name()), 0L);
            switch (TargetPackReader.fetchIndex(pack, keys, shelf, store)) {
                case TargetPackReader.Indexed.Ok ok -> {
                    if (written == 0 && TargetPackReader.presence(pack, keys, store) == TargetPackReader.Presence.GONE) {
                        continue; // the index is one that this machine has kept
                    }
                    for (PackLocation place : ok.index().places()) {
                        if (told.add(keys.namespace(), place.id())) {
                            visitor.accept(new EntryCatalog.Listed(keys.namespace(), place.id(), place.length(), written));
                        }
                    }
                }
                case TargetPackReader.Indexed.Forbidden forbidden when written > 0 -> // the listing shows it
                    throw new IOException("The index of a pack cannot be read: " + forbidden.failure());
                case TargetPackReader.Indexed.Lost _, TargetPackReader.Indexed.Forbidden _, TargetPackReader.Indexed.Newer _ -> {}
                case TargetPackReader.Indexed.Unsaid unsaid -> throw new IOException("The index of a pack cannot be read: " + unsaid.failure());
            }
        }
    }
}
