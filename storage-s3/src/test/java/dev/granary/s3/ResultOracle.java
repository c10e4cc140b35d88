package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Judges whether what a tier said is true of what is in the bucket.
 *
 * @param before what was there before the call, as a sound reader finds it
 * @param after what is there after it
 * @param wasLiedTo the tier was told something false of an object or of its write, or a condition was not kept
 * @param wasDisturbed something else may have changed the object meanwhile
 */
record ResultOracle(LoadResult before, LoadResult after, boolean wasLiedTo, boolean wasDisturbed) {
    /** Where version and flags begin in an entry. */
    private static final int VERSION_OFFSET = 8;
    private static final int VERSION_BYTES = 4;

    /** A look-up never gives other bytes than an entry has that was there, and says absent only where nothing was. */
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
     * A store tells what is there now.
     *
     * @param isDamageKnown the tier has read the damage that was there; else it may take an object's metadata at its word
     */
    void judge(StoreResult result, Entry mine, boolean isDamageKnown) {
        boolean isUnseenDamage = !isDamageKnown && after instanceof LoadResult.Damaged;
        boolean isTrue = switch (result) {
            case StoreResult.Stored _ -> isThere(after, mine);
            case StoreResult.Duplicate _ -> isThere(after, mine) || isUnseenDamage;
            case StoreResult.Divergent _ -> (after instanceof LoadResult.Hit && !isThere(after, mine))
                    || (after instanceof LoadResult.Damaged damaged && damaged.damage() == DamageKind.TOO_NEW); // left to those who can read it
            case StoreResult.Refused _, StoreResult.Failed _ -> isSame(before, after) || wasLiedTo || wasDisturbed;
            case StoreResult.Unknown _ -> true;
        };
        assertTrue(isTrue, () -> result + " is not true: " + this);
        assertTrue(isSame(before, after) || isThere(after, mine) || wasDisturbed, () -> "neither what was there nor mine: " + this);
        if (before instanceof LoadResult.Hit) {
            assertTrue(isSame(before, after) || wasLiedTo, () -> "the first did not stay: " + this);
        }
    }

    /** A byte of an entry to damage; none of its version and flags, since an entry of a newer version is left to those who can read it. */
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
