package dev.granary.s3.pack;

import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.pack.manifest.UnknownStateException;
import dev.granary.s3.store.ObjectStore;

import java.util.Optional;
import java.util.function.Function;

/**
 * Committer of manifests that state that the target may have unpacked entries, so that lookups
 * request them. Thread-safe.
 */
final class TargetUnsealer {
    private final Function<ObjectStore, PackManifestLog> logs;
    private volatile boolean hasWrittenUnpacked;

    TargetUnsealer(Function<ObjectStore, PackManifestLog> logs) {
        this.logs = logs;
    }

    /** The outcome of {@link #unseal}. */
    sealed interface Unsealed {
        /** Lookups request unpacked entries. */
        record Done() implements Unsealed {}

        /** Lookups do not request them. */
        record Failed(String cause) implements Unsealed {}

        /** The bucket does not report whether lookups request them, now or later. */
        record Unknown(String cause) implements Unsealed {}
    }

    /**
     * Commits that the target may have unpacked entries, after one was stored, unless the manifest
     * says so. The bucket is read after the write: another process may have sealed the target from
     * an older listing, or be about to.
     */
    Unsealed unseal(TargetStateLoader loader, ObjectStore store) {
        long mark = loader.mark();
        Optional<TargetPackState> ignored =
                loader.state(store); // reads the manifest if none is known
        // evaluated before the manifest is taken, which is then at least as new
        boolean isFresh = loader.isReadSince(mark);
        PackManifest known = loader.known();
        try {
            boolean isNewest = isFresh || logs.apply(store).isNewest(known);
            if (isNewest && known.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE) {
                return new Unsealed.Done();
            }
        } catch (UnknownStateException e) {
            hasWrittenUnpacked = true;
            return new Unsealed.Unknown(
                    "the bucket does not report whether lookups request unpacked entries: "
                            + e.failure());
        }
        Unsealed unsealed = commit(store);
        loader.refresh(store);
        return unsealed;
    }

    /** Commits that the target may have unpacked entries, unless the newest manifest says so. */
    private Unsealed commit(ObjectStore store) {
        PackManifestLog.Committed<?> committed = logs.apply(store)
                .commit(base -> base.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE
                        ? ManifestPlan.nothing()
                        : ManifestPlan.commit(base.with(PackManifest.UnpackedEntries.POSSIBLE)));
        return switch (committed) {
            case PackManifestLog.Committed.Done<?> _, PackManifestLog.Committed.Overtaken<?> _ ->
                new Unsealed.Done();
            case PackManifestLog.Committed.Failed<?>(String cause) -> new Unsealed.Failed(cause);
            case PackManifestLog.Committed.Unknown<?>(String cause) ->
                new Unsealed.Unknown(
                        "the manifest excluded unpacked entries, and it is unknown whether that"
                                + " was changed: "
                                + cause);
        };
    }

    /**
     * Removes the seal after this process stored an unpacked entry: another process may have sealed
     * the target from an older listing.
     */
    void commitIfWritten(PackManifest newest, ObjectStore store) {
        if (hasWrittenUnpacked && newest.number() > 0) {
            hasWrittenUnpacked = newest.unpackedEntries() != PackManifest.UnpackedEntries.POSSIBLE
                    && !(commit(store) instanceof Unsealed.Done);
        }
    }
}
