package dev.granary.testing;

import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;

/** An assertion about the outcome of reading the newest manifest of packs. */
public final class NewestManifestAssert
        extends ResultAssert<NewestManifestAssert, PackManifestLog.Newest> {
    NewestManifestAssert(PackManifestLog.Newest actual) {
        super(actual);
    }

    /** Asserts that the newest manifest was determined, and returns it. */
    public PackManifest isFound() {
        return is(PackManifestLog.Newest.Found.class).manifest();
    }

    /** Asserts that the newest manifest cannot be determined, and returns the cause. */
    public String isUnavailable() {
        return is(PackManifestLog.Newest.Unavailable.class).cause();
    }
}
