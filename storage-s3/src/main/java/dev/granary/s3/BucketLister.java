package dev.granary.s3;

import dev.granary.cache.EntryCatalog;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.ListedEntrySet;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;

import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * Lists the entries of a bucket, unpacked and packed, for tools. For one use.
 *
 * <p>Entries are passed on page by page. Memory: 12 to 24 bytes for each entry, and the keys of at
 * most {@value #MAX_KEYS} packs and as many targets. The write time of further packs is not
 * reported. With packs of further targets the listing fails.
 */
final class BucketLister {
    private static final int MAX_KEYS = 100_000;

    private final S3Location location;
    private final BucketLayout layout;
    private final ObjectStore store;
    private final PackReader.Settings packSettings;
    private final ListedEntrySet listed = new ListedEntrySet();
    private final Map<String, Long> packWrittenMillis = new HashMap<>();
    private final Set<String> withHead = new HashSet<>();
    private boolean hasFurtherTargets;

    BucketLister(
            S3Location location,
            BucketLayout layout,
            ObjectStore store,
            PackReader.Settings packSettings) {
        this.location = location;
        this.layout = layout;
        this.store = store;
        this.packSettings = packSettings;
    }

    void list(Consumer<EntryCatalog.Listed> visitor, ObjLongConsumer<String> compileNanos)
            throws IOException {
        if (store.list(layout.root(), object -> classify(object, visitor))
                instanceof ListResult.Unavailable unavailable) {
            throw new IOException(location + " could not be listed: " + unavailable.failure());
        }
        if (hasFurtherTargets) {
            throw new IOException(location + " has packs of more than " + MAX_KEYS
                    + " targets, the limit of a listing");
        }
        for (String namespace : withHead) {
            for (PackInfo pack : packSettings.register(store, namespace).packs()) {
                list(pack, packSettings.keys(namespace), visitor, compileNanos);
            }
        }
    }

    /** Lists the entries of a pack that were not listed before; a missing pack has none. */
    private void list(
            PackInfo pack,
            TargetLayout keys,
            Consumer<EntryCatalog.Listed> visitor,
            ObjLongConsumer<String> compileNanos)
            throws IOException {
        String key = keys.pack(pack.name());
        long written = packWrittenMillis.getOrDefault(key, 0L);
        switch (PackIndexReader.read(
                pack, keys, packSettings.indexCache(keys.namespace()), store)) {
            case PackIndexReader.IndexResult.Ok(PackIndex index) -> {
                if (written == 0 && !(store.head(key) instanceof HeadResult.Found)) {
                    return; // the index came from the local cache
                }
                for (PackLocation location : index.locations()) {
                    if (listed.add(keys.namespace(), location.id())) {
                        visitor.accept(new EntryCatalog.Listed(
                                keys.namespace(), location.id(), location.length(), written));
                        compileNanos.accept(keys.namespace(), location.compileNanos());
                    }
                }
            }
            case PackIndexReader.IndexResult.Lost(boolean isThere, String cause) -> {
                if (isThere) {
                    throw new IOException("Pack " + key + " cannot be listed: " + cause
                            + "; granary compact drops what is lost");
                }
            }
            case PackIndexReader.IndexResult.Unavailable(String cause) ->
                throw new IOException("The index of a pack cannot be read: " + cause);
        }
    }

    private void classify(ObjectStore.Listed object, Consumer<EntryCatalog.Listed> visitor) {
        Optional<EntryCatalog.Listed> entry = layout.listed(object);
        if (entry.isPresent()) {
            if (listed.add(entry.get().namespace(), entry.get().hash())) {
                visitor.accept(entry.get());
            }
        } else if (layout.isPack(object.key())) {
            if (packWrittenMillis.size() < MAX_KEYS) {
                packWrittenMillis.put(object.key(), object.lastModifiedMillis());
            }
        } else {
            layout.headNamespace(object.key()).ifPresent(this::addTarget);
        }
    }

    private void addTarget(String namespace) {
        if (withHead.size() < MAX_KEYS) {
            withHead.add(namespace);
        } else if (!withHead.contains(namespace)) {
            hasFurtherTargets = true;
        }
    }
}
