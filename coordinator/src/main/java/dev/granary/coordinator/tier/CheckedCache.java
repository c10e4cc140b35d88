package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.toml.SafeText;

import java.time.Duration;
import java.util.Objects;

/**
 * A plugged cache with a check of its answers.
 *
 * <ul>
 *   <li>A null in place of a result is an exception, as those that a call throws: the
 *       {@link BoundedTier} above makes a result of them.
 *   <li>A hit with another id, with binaries that do not match their hash, with binaries that only
 *       one thread may read, or with a compile time out of range is {@link LoadResult.Damaged}.
 * </ul>
 *
 * <p>{@link #close()} does nothing: the cache belongs to the application.
 */
record CheckedCache(PersistentCache plugged) implements PersistentCache {
    /** A thread other than that of any load. */
    private static final Thread OTHER = new Thread(() -> {});

    @Override
    public LoadResult load(Id id) {
        return load(id, Deadline.NONE);
    }

    @Override
    public LoadResult load(Id id, Deadline deadline) {
        return switch (Objects.requireNonNull(plugged.load(id, deadline), "the result is null")) {
            case LoadResult.Hit(Entry entry) -> inspect(id, entry);
            case LoadResult.Absent absent -> absent;
            case LoadResult.Damaged(DamageKind damage, String detail) ->
                new LoadResult.Damaged(Objects.requireNonNull(damage), SafeText.inOneLine(detail));
            case LoadResult.Unavailable(String cause) ->
                new LoadResult.Unavailable(SafeText.inOneLine(cause));
        };
    }

    private static LoadResult inspect(Id id, Entry entry) {
        // their source is code of the cache, which other threads would call later
        Objects.requireNonNull(entry.metadata(), "the metadata are null");
        if (!entry.id().equals(id)) {
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
        return Objects.requireNonNull(plugged.store(entry), "the result is null");
    }

    @Override
    public void discard(Entry entry) {
        plugged.discard(entry);
    }

    @Override
    public void close() {}
}
