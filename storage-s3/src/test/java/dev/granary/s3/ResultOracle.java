package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;

import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Test oracle: checks the result of a tier against the content of the bucket.
 *
 * @param before the content before the call, as a sound reader finds it
 * @param after the content after it
 * @param wasLiedTo whether the tier got a false response on an object or its write, or a condition
 *     was not honoured
 * @param wasDisturbed whether another party may have changed the object meanwhile
 */
record ResultOracle(LoadResult before, LoadResult after, boolean wasLiedTo, boolean wasDisturbed) {
    /** Offset of version and flags in an entry. */
    private static final int VERSION_OFFSET = 8;

    private static final int VERSION_BYTES = 4;

    /**
     * Checks a lookup: it returns only bytes of an entry that existed, and absent only if none did.
     */
    void verify(LoadResult result) {
        boolean isTrue =
                switch (result) {
                    case LoadResult.Hit(Entry entry) ->
                        isPresent(before, entry) || isPresent(after, entry);
                    case LoadResult.Absent _ ->
                        before instanceof LoadResult.Absent || after instanceof LoadResult.Absent;
                    case LoadResult.Damaged _ -> before instanceof LoadResult.Damaged || wasLiedTo;
                    case LoadResult.Unavailable _ -> true;
                };
        assertTrue(isTrue, () -> result + " is not true: " + this);
        assertTrue(
                wasDisturbed || isSame(before, after),
                () -> "a lookup changed the content: " + this);
    }

    /**
     * Checks a store against the content after it.
     *
     * @param isDamageKnown whether the tier has read the damage; otherwise it may trust the
     *     metadata of the object
     */
    void verify(StoreResult result, Entry own, boolean isDamageKnown) {
        boolean isUnseenDamage = !isDamageKnown && after instanceof LoadResult.Damaged;
        boolean isTrue =
                switch (result) {
                    case StoreResult.Stored _ -> isPresent(after, own);
                    case StoreResult.Duplicate _ -> isPresent(after, own) || isUnseenDamage;
                    case StoreResult.Divergent _ ->
                        (after instanceof LoadResult.Hit && !isPresent(after, own))
                                // left to newer versions
                                || (after instanceof LoadResult.Damaged damaged
                                        && damaged.damage() == DamageKind.TOO_NEW);
                    case StoreResult.Refused _, StoreResult.Failed _ ->
                        isSame(before, after) || wasLiedTo || wasDisturbed;
                    case StoreResult.Unknown _ -> true;
                };
        assertTrue(isTrue, () -> result + " is not true: " + this);
        assertTrue(
                isSame(before, after) || isPresent(after, own) || wasDisturbed,
                () -> "neither the previous content nor ours: " + this);
        if (before instanceof LoadResult.Hit) {
            assertTrue(isSame(before, after) || wasLiedTo, () -> "the first did not stay: " + this);
        }
    }

    /**
     * Returns the offset of a byte to damage, outside of version and flags: an entry of a newer
     * version is left to newer readers.
     */
    static int damagedByte(RandomGenerator random, int length) {
        int index = random.nextInt(length - VERSION_BYTES);
        return index < VERSION_OFFSET ? index : index + VERSION_BYTES;
    }

    private static boolean isPresent(LoadResult there, Entry entry) {
        return there instanceof LoadResult.Hit hit
                && hit.entry().contentHash().equals(entry.contentHash())
                && hit.entry().id().equals(entry.id());
    }

    private static boolean isSame(LoadResult one, LoadResult other) {
        return one instanceof LoadResult.Hit hit
                ? isPresent(other, hit.entry())
                : one.getClass() == other.getClass();
    }

    @Override
    public String toString() {
        return "before " + reported(before) + ", after " + reported(after)
                + (wasLiedTo ? ", lied to" : "") + (wasDisturbed ? ", disturbed" : "");
    }

    private static String reported(LoadResult there) {
        return Optional.of(there)
                .filter(LoadResult.Hit.class::isInstance)
                .map(LoadResult.Hit.class::cast)
                .map(hit -> "entry with " + hit.entry().contentHash().hex().substring(0, 8))
                .orElse(there.toString());
    }
}
