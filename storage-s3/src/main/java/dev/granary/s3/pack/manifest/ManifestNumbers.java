package dev.granary.s3.pack.manifest;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.DeadlineBound;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * Finder of the numbers of one target's manifests. A chain of manifests has numbers without gaps,
 * so a search by existence finds its end. Changes nothing in the bucket. Thread-safe.
 */
final class ManifestNumbers {
    private static final int MAX_CANDIDATES = 8;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final ManifestObjects objects;

    ManifestNumbers(ObjectStore store, TargetLayout keys, ManifestObjects objects) {
        this.store = store;
        this.keys = keys;
        this.objects = objects;
    }

    /**
     * Returns true if all numbers after {@code low} up to {@code high} exist: the later manifests
     * were built on the earlier ones.
     */
    boolean isContiguous(long low, long high) throws UnknownStateException {
        return lastFrom(low) >= high;
    }

    /** Returns the number of the newest manifest; 0 if there is none. */
    long newest(ManifestHint hint) throws UnknownStateException {
        boolean isThere = hint.number() > 0 && objects.exists(hint.number());
        long from = isThere || hint.number() == 0 ? hint.searchStart() : 0;
        long last = lastFrom(from);
        if (isThere || (hint.number() == 0 && last > from)) {
            return last;
        }
        return Math.max(last == from ? 0 : last, lastListed(hint.number()));
    }

    /**
     * Returns the last number in a listing, for a chain whose first manifests were removed. If the
     * hint is 0 and listing is forbidden, the first commit of the target is taken to be in
     * progress.
     */
    private long lastListed(long hint) throws UnknownStateException {
        if (store instanceof DeadlineBound) {
            // a lifecycle rule may have removed the manifest of the hint, but not the later ones
            long after = hint == 0 ? 0 : lastFrom(hint);
            if (hint == 0 || after > hint) {
                return after;
            }
            throw new UnknownStateException(StoreFailure.of(
                    StoreFailure.Kind.TIMEOUT,
                    "the newest manifest must be listed, which takes longer than the"
                            + " deadline of a lookup"));
        }
        NavigableSet<Long> last = new TreeSet<>();
        ListResult listed =
                store.list(keys.manifestPrefix(), object -> keys.manifestNumber(object.key())
                        .ifPresent(number -> {
                            last.add(number);
                            if (last.size() > MAX_CANDIDATES) {
                                last.pollFirst();
                            }
                        }));
        if (listed instanceof ListResult.Unavailable unavailable) {
            if (hint == 0 && AbsenceVerifier.isForbidden(unavailable.failure())) {
                return 0;
            }
            String advice = AbsenceVerifier.isForbidden(unavailable.failure())
                    ? " (" + keys.hint()
                            + " names a manifest that is gone, so the newest one must be listed:"
                            + " allow s3:ListBucket)"
                    : "";
            StoreFailure failure = unavailable.failure();
            throw new UnknownStateException(new StoreFailure(
                    failure.kind(), failure.status(), failure.code(), failure.message() + advice));
        }
        for (long number : last.descendingSet()) {
            if (number > 0 && number <= ManifestHint.MAX_NUMBER && objects.exists(number)) {
                return lastFrom(number);
            }
        }
        return 0;
    }

    /**
     * Returns the number of the last manifest, searched from an existing one or from 0: in steps of
     * 1, 2, 4, ..., then in halves.
     */
    long lastFrom(long start) throws UnknownStateException {
        long low = start;
        long step = 1;
        while (objects.exists(low + step)) {
            if (low + step > ManifestHint.MAX_NUMBER) {
                throw new UnknownStateException(StoreFailure.of(
                        StoreFailure.Kind.BROKEN,
                        "a manifest of every number: is this an S3 server?"));
            }
            low += step;
            step *= 2;
        }
        for (step /= 2; step >= 1; step /= 2) {
            if (objects.exists(low + step)) {
                low += step;
            }
        }
        return low;
    }
}
