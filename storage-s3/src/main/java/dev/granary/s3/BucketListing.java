package dev.granary.s3;

import dev.granary.cache.Catalog;
import dev.granary.cache.Sha256;
import dev.granary.s3.pack.Packs;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/** Lists what a bucket has: entries that lie alone, and those in packs. For tools; for one use. */
final class BucketListing {
    private final S3Location location;
    private final BucketLayout layout;
    private final ObjectStore store;
    private final Packs.Settings packs;
    private final Map<String, Set<Sha256>> alone = new TreeMap<>();
    private final Map<String, Long> packWrittenMillis = new HashMap<>();
    private final Set<String> withManifest = new HashSet<>();

    BucketListing(S3Location location, BucketLayout layout, ObjectStore store, Packs.Settings packs) {
        this.location = location;
        this.layout = layout;
        this.store = store;
        this.packs = packs;
    }

    void list(Consumer<Catalog.Listed> visitor) throws IOException {
        if (store.list(layout.root(), object -> sort(object, visitor)) instanceof ListResult.Unavailable lost) {
            throw new IOException(location + " could not be listed: " + lost.failure());
        }
        for (String namespace : withManifest) {
            Packs.listing(store, packs, namespace).list(alone.getOrDefault(namespace, Set.of()), packWrittenMillis, visitor);
        }
    }

    private void sort(ObjectStore.Listed object, Consumer<Catalog.Listed> visitor) {
        Optional<Catalog.Listed> entry = layout.listed(object);
        if (entry.isPresent()) {
            alone.computeIfAbsent(entry.get().namespace(), _ -> new HashSet<>()).add(entry.get().hash());
            visitor.accept(entry.get());
        } else {
            packWrittenMillis.put(object.key(), object.lastModifiedMillis());
            layout.namespaceOfManifest(object.key()).ifPresent(withManifest::add);
        }
    }
}
