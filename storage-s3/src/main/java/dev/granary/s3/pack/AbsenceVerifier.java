package dev.granary.s3.pack;

import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

/**
 * Tells an object that is absent from one that may not be read. Amazon answers 403 for both to whoever lacks {@code s3:ListBucket}.
 *
 * <p>The hint of the target decides: whoever may read it after the 403 may read the objects beside it. Then the object is asked for once more, so that
 * one wrong answer is no absence.
 */
final class AbsenceVerifier {
    /** The hint has at most that many bytes. */
    static final int HINT_BYTES = 20;

    private static final int FORBIDDEN = 403;

    private AbsenceVerifier() {}

    /** True if a read of {@code key} that ended in {@code failure} met an absent object. Sends requests after a 403, and none after any other failure. */
    static boolean isAbsent(StoreFailure failure, String key, ObjectStore store, TargetLayout keys) {
        return isForbidden(failure) && store.get(keys.hint(), HINT_BYTES) instanceof GetResult.Found && switch (store.head(key)) {
            case HeadResult.Absent _ -> true;
            case HeadResult.Unavailable again -> isForbidden(again.failure());
            case HeadResult.Found _ -> false;
        };
    }

    /** True for the 403 that an absent object may have; an answer to HEAD has no body and thus no code. */
    static boolean isForbidden(StoreFailure failure) {
        return failure.status() == FORBIDDEN && switch (failure.code()) {
            case "", "AccessDenied", "Forbidden", "403" -> true;
            default -> false; // credentials that have expired, a clock that is wrong
        };
    }
}
