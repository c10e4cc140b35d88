package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.AbsenceVerifier;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Finder of lost packs: a manifest names them and the bucket does not have them, for example after
 * a lifecycle rule. A pack counts as lost if a listing lacks it, and two requests report it absent.
 * Thread-safe.
 */
final class LostPackFinder {
    private static final int CHECKS = 2;

    private final ObjectStore store;
    private final TargetLayout keys;

    LostPackFinder(ObjectStore store, TargetLayout keys) {
        this.store = store;
        this.keys = keys;
    }

    /** The outcome of a search. */
    sealed interface SearchResult {
        /** The lost packs; the bucket has all others. */
        record Lost(Set<Sha256> names) implements SearchResult {
            public Lost {
                names = Set.copyOf(names);
            }
        }

        /** The bucket cannot be listed. */
        record Unavailable(StoreFailure failure) implements SearchResult {}
    }

    /** Returns the lost packs among {@code named}. */
    SearchResult find(List<PackInfo> named) {
        Map<Sha256, PackInfo> unseen = new HashMap<>();
        named.forEach(pack -> unseen.put(pack.name(), pack));
        ListResult listed = store.list(
                keys.packPrefix(), object -> keys.packName(object.key()).ifPresent(name -> {
                    PackInfo pack = unseen.get(name);
                    if (pack != null && pack.bytes() == object.bytes()) {
                        unseen.remove(name);
                    }
                }));
        if (listed instanceof ListResult.Unavailable unavailable
                && !isListingForbidden(unavailable.failure())) {
            return new SearchResult.Unavailable(unavailable.failure());
        }
        return new SearchResult.Lost(unseen.values().stream()
                .filter(this::isLost)
                .map(PackInfo::name)
                .collect(Collectors.toSet()));
    }

    /**
     * Without the right to list, the requests for each pack decide; {@link AbsenceVerifier} repeats
     * them.
     */
    private static boolean isListingForbidden(StoreFailure failure) {
        return AbsenceVerifier.isForbidden(failure);
    }

    private boolean isLost(PackInfo pack) {
        for (int check = 1; check <= CHECKS; check++) {
            if (PackPresence.of(pack, keys, store) != PackPresence.GONE) {
                return false;
            }
        }
        return true;
    }
}
