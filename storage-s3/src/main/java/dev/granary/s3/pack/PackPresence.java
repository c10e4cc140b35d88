package dev.granary.s3.pack;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.AbsenceVerifier;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;

/** The presence of a pack in the bucket. */
public enum PackPresence {
    /** It exists with its full length. */
    THERE,
    /** It does not exist, or has another length. */
    GONE,
    /** The bucket did not report it. */
    UNKNOWN;

    /**
     * Requests a pack from the bucket, since a cached index proves nothing. One of another length
     * counts as gone.
     */
    public static PackPresence of(PackInfo pack, TargetLayout keys, ObjectStore store) {
        return switch (store.head(keys.pack(pack.name()))) {
            case HeadResult.Found found -> found.bytes() == pack.bytes() ? THERE : GONE;
            case HeadResult.Absent _ -> GONE;
            case HeadResult.Unavailable unavailable ->
                AbsenceVerifier.isAbsent(unavailable.failure(), keys.pack(pack.name()), store, keys)
                        ? GONE
                        : UNKNOWN;
        };
    }
}
