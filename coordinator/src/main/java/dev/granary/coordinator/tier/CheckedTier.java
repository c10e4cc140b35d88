package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.toml.SafeText;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * A tier that keeps the contract of {@link PersistentCache} even if the plugged cache breaks it.
 *
 * <ul>
 *   <li>A call that throws, even an error, or that returns null counts as a call without an answer.
 *   <li>A hit with another id, with binaries that do not match their hash, with binaries that only
 *       one thread may read, or with a compile time out of range is {@link LoadResult.Damaged}.
 * </ul>
 *
 * <p>Calls run on the thread of the caller; {@link BoundedTier} limits their time. {@link #close()}
 * does nothing: the cache belongs to the application.
 */
final class CheckedTier implements Tier {
    /** A thread other than that of any load. */
    private static final Thread OTHER = new Thread(() -> {});

    private final Tier plugged;

    CheckedTier(Tier plugged) {
        this.plugged = plugged;
    }

    @Override
    public String name() {
        return plugged.name();
    }

    @Override
    public LoadResult load(List<Id> ids, Deadline deadline) {
        try {
            return switch (Objects.requireNonNull(
                    plugged.load(ids, deadline), "the result is null")) {
                case LoadResult.Hit(Entry entry) -> inspect(ids, entry);
                case LoadResult.Absent absent -> absent;
                case LoadResult.Damaged(DamageKind damage, String detail) ->
                    new LoadResult.Damaged(
                            Objects.requireNonNull(damage), SafeText.inOneLine(detail));
                case LoadResult.Unavailable(String cause) ->
                    new LoadResult.Unavailable(SafeText.inOneLine(cause));
            };
        } catch (Throwable e) { // a broken contract or an error: a miss
            return new LoadResult.Unavailable(broken(e));
        }
    }

    private static LoadResult inspect(List<Id> ids, Entry entry) {
        // their source is code of the cache, which other threads would call later
        Objects.requireNonNull(entry.metadata(), "the metadata are null");
        if (!ids.contains(entry.id())) {
            return new LoadResult.Damaged(DamageKind.WRONG_KEY, "an entry of another id");
        }
        if (!entry.binaries().segments().stream().allMatch(part -> part.isAccessibleBy(OTHER))) {
            return new LoadResult.Damaged(
                    DamageKind.CORRUPT, "only one thread may read the binaries");
        }
        if (!Entry.contentHash(entry.id(), entry.binaries()).equals(entry.contentHash())) {
            return new LoadResult.Damaged(
                    DamageKind.CORRUPT, "the binaries do not match their SHA-256");
        }
        Duration compileTime = entry.compileTime();
        if (compileTime.isNegative()
                || compileTime.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0) {
            return new LoadResult.Damaged(
                    DamageKind.CORRUPT, "the compile time is out of range: " + compileTime);
        }
        return new LoadResult.Hit(entry);
    }

    @Override
    public StoreResult store(Entry entry) {
        try {
            return Objects.requireNonNull(plugged.store(entry), "the result is null");
        } catch (Throwable e) { // it may have stored the entry nevertheless
            return new StoreResult.Unknown(broken(e));
        }
    }

    /** Discards an entry; if that fails, the entry stays and is rejected again. */
    @Override
    public void discard(Entry entry) {
        try {
            plugged.discard(entry);
        } catch (Throwable e) {
            broken(e);
        }
    }

    @Override
    public void close() {}

    /** Logs a broken contract, and returns its cause. */
    private String broken(Throwable thrown) {
        String cause;
        try {
            cause = SafeText.inOneLine(thrown.toString());
        } catch (Throwable e) { // the text of the exception is code of the cache, too
            cause = thrown.getClass().getName();
        }
        Warnings.warn("broken " + name(), "A call of " + name() + " failed: " + cause);
        return cause;
    }
}
