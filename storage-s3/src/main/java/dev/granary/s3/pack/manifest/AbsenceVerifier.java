package dev.granary.s3.pack.manifest;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

/**
 * Distinguishes an absent object from a forbidden one. Amazon S3 returns 403 for both to callers
 * without {@code s3:ListBucket}.
 *
 * <p>The hint of the target decides: if it can be read after the 403, the objects beside it can be
 * read, too. The object is then requested once more, so that one wrong response is not taken for
 * absence.
 */
public final class AbsenceVerifier {
    /** The largest size of a hint in bytes. */
    static final int HINT_BYTES = 20;

    private static final int FORBIDDEN = 403;

    private AbsenceVerifier() {}

    /**
     * Returns true if a read of {@code key} failed because the object is absent. Sends requests
     * only if the failure is a 403.
     */
    public static boolean isAbsent(
            StoreFailure failure, String key, ObjectStore store, TargetLayout keys) {
        return isForbidden(failure)
                && store.get(keys.hint(), HINT_BYTES) instanceof GetResult.Found
                && switch (store.head(key)) {
                    case HeadResult.Absent _ -> true;
                    case HeadResult.Unavailable again -> isForbidden(again.failure());
                    case HeadResult.Found _ -> false;
                };
    }

    /**
     * Returns true for a 403 that may stand for absence. A response to HEAD has no body and thus no
     * code.
     */
    public static boolean isForbidden(StoreFailure failure) {
        return failure.status() == FORBIDDEN
                && switch (failure.code()) {
                    case "", "AccessDenied", "Forbidden", "403" -> true;
                    default -> false; // such as expired credentials or a wrong clock
                };
    }
}
