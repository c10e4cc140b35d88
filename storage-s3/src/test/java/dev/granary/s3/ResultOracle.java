package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Test oracle: checks the result of a tier against the content of the bucket.
 *
 * @param before the content before the call, as a sound reader finds it
 * @param after the content after it
 * @param wasLiedTo whether the tier got a false response on an object or its write, or a
 *     condition was not honoured
 * @param wasDisturbed whether another party may have changed the object meanwhile
 */
record ResultOracle(LoadResult before, LoadResult after, boolean wasLiedTo, boolean wasDisturbed) {
    /** Offset of version and flags in an entry. */
    private static final int VERSION_OFFSET = 8;
    private static final int VERSION_BYTES = 4;

    /**
     * Checks a lookup: it returns only bytes of an entry that existed, and absent only if none did.
     */
    void judge(LoadResult result) {
        boolean isTrue = switch (result) {
            case LoadResult.Hit(Entry entry) -> isThere(before, entry) || isThere(after, entry);
            case LoadResult.Absent _ -> before instanceof LoadResult.Absent || after instanceof LoadResult.Absent;
            case LoadResult.Damaged _ -> before instanceof LoadResult.Damaged || wasLiedTo;
            case LoadResult.Unavailable _ -> true;
        };
        assertTrue(isTrue, () -> result + " is not true: " + this);
        assertTrue(wasDisturbed || isSame(before, after), () -> "a look-up changed what is there: " + this);
    }

    /**
     * Checks a store against the content after it.
     *
     * @param isDamageKnown whether the tier has read the damage; otherwise it may trust the
     *     metadata of the object
     */
    void judge(StoreResult result, Entry mine, boolean isDamageKnown) {
        boolean isUnseenDamage = !isDamageKnown && after instanceof LoadResult.Damaged;
        boolean isTrue = switch (result) {
            case StoreResult.Stored _ -> isThere(after, mine);
            case StoreResult.Duplicate _ -> isThere(after, mine) || isUnseenDamage;
            case StoreResult.Divergent _ -> (after instanceof LoadResult.Hit && !isThere(after, mine))
                    // left to newer versions
                    || (after instanceof LoadResult.Damaged damaged && damaged.damage() == DamageKind.TOO_NEW);
            case StoreResult.Refused _, StoreResult.Failed _ -> isSame(before, after) || wasLiedTo || wasDisturbed;
            case StoreResult.Unknown _ -> true;
        };
        assertTrue(isTrue, () -> result + " is not true: " + this);
        assertTrue(isSame(before, after) || isThere(after, mine) || wasDisturbed, () -> "neither what was there nor mine: " + this);
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

    private static boolean isThere(LoadResult there, Entry entry) {
        return there instanceof LoadResult.Hit hit && hit.entry().contentHash().equals(entry.contentHash())
                && hit.entry().id().equals(entry.id());
    }

    private static boolean isSame(LoadResult one, LoadResult other) {
        return one instanceof LoadResult.Hit hit ? isThere(other, hit.entry()) : one.getClass() == other.getClass();
    }

    @Override
    public String toString() {
        return "before " + told(before) + ", after " + told(after) + (wasLiedTo ? ", lied to" : "") + (wasDisturbed ? ", disturbed" : "");
    }

    private static String told(LoadResult there) {
        return Optional.of(there).filter(LoadResult.Hit.class::isInstance).map(LoadResult.Hit.class::cast)
                .map(hit -> "entry with " + hit.entry().contentHash().hex().substring(0, 8)).orElse(there.toString());
    }
}
