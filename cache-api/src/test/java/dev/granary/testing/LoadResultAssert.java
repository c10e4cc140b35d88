package dev.granary.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;

/** An assertion about the result of a load. */
public final class LoadResultAssert extends ResultAssert<LoadResultAssert, LoadResult> {
    LoadResultAssert(LoadResult actual) {
        super(actual);
    }

    /** Asserts a hit, and returns its entry. */
    public Entry isHit() {
        return is(LoadResult.Hit.class).entry();
    }

    /** Asserts a hit with that id. */
    public void isHitOf(Id expected) {
        assertEquals(expected, isHit().id(), this::message);
    }

    /** Asserts a hit with exactly the content of {@code expected}, and with its hash. */
    public void isHitOf(Entry expected) {
        Entry entry = isHit();
        assertEquals(expected.id(), entry.id(), this::message);
        assertEquals(expected.binaries(), entry.binaries(), this::message);
        assertEquals(expected.contentHash(), entry.contentHash(), this::message);
        assertEquals(
                expected.contentHash(),
                Entry.contentHash(entry.id(), entry.binaries()),
                this::message);
    }

    /** Asserts a miss of any kind. */
    public void isMiss() {
        isOneOf(LoadResult.Absent.class, LoadResult.Damaged.class, LoadResult.Unavailable.class);
    }

    /** Asserts that the store has no such entry. */
    public void isAbsent() {
        is(LoadResult.Absent.class);
    }

    /** Asserts that the stored bytes are not this entry, and returns the damage with its detail. */
    public LoadResult.Damaged isDamaged() {
        return is(LoadResult.Damaged.class);
    }

    /** Asserts damage of that kind, and returns it with its detail. */
    public LoadResult.Damaged isDamaged(DamageKind expected) {
        LoadResult.Damaged damaged = isDamaged();
        assertEquals(expected, damaged.damage(), this::message);
        return damaged;
    }

    /** Asserts that the store did not answer, and returns the cause. */
    public String isUnavailable() {
        return is(LoadResult.Unavailable.class).cause();
    }
}
