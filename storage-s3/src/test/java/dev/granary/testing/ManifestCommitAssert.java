package dev.granary.testing;

import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;

/** An assertion about the outcome of a commit of the manifest of packs. */
public final class ManifestCommitAssert
        extends ResultAssert<ManifestCommitAssert, PackManifestLog.Committed<?>> {
    ManifestCommitAssert(PackManifestLog.Committed<?> actual) {
        super(actual);
    }

    /** Asserts that the plan was committed, and returns the manifest that the commit created. */
    public PackManifest isDone() {
        return is(PackManifestLog.Committed.Done.class).manifest();
    }

    /** Asserts that the planner had nothing to change. */
    public void isOvertaken() {
        is(PackManifestLog.Committed.Overtaken.class);
    }

    /** Asserts that the plan was not and will not be committed, and returns the cause. */
    public String isFailed() {
        return is(PackManifestLog.Committed.Failed.class).cause();
    }

    /** Asserts that the plan may be committed, now or later, and returns the cause. */
    public String isUnknown() {
        return is(PackManifestLog.Committed.Unknown.class).cause();
    }
}
