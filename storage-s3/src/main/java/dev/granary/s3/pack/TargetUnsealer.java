package dev.granary.s3.pack;

import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.ObjectStore;

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

    /** The outcome of {@link TargetPackReader#unseal}. */
    sealed interface Unsealed {
        /** Lookups request unpacked entries. */
        record Done() implements Unsealed {}

        /** Lookups do not request them. */
        record Failed(String cause) implements Unsealed {}

        /** The bucket did not report it. */
        record Unknown(String cause) implements Unsealed {}
    }

    /** Commits that the target may have unpacked entries, unless the newest manifest says so. */
    Unsealed commit(ObjectStore store) {
        PackManifestLog.Committed<?> committed = logs.apply(store)
                .commit(base -> base.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE
                        ? ManifestPlan.nothing()
                        : ManifestPlan.commit(base.with(PackManifest.UnpackedEntries.POSSIBLE)));
        return switch (committed) {
            case PackManifestLog.Committed.Done<?> _, PackManifestLog.Committed.Overtaken<?> _ ->
                new Unsealed.Done();
            case PackManifestLog.Committed.Failed<?>(String cause) -> new Unsealed.Failed(cause);
            case PackManifestLog.Committed.Unknown<?>(String cause) -> new Unsealed.Failed(cause);
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

    /** Makes later reads of the manifest remove the seal: this process stored an unpacked entry. */
    void setUnpackedWritten() {
        hasWrittenUnpacked = true;
    }
}
