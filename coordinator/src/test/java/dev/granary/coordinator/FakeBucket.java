package dev.granary.coordinator;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A bucket in memory that several Granaries share, with the moods of a real one. The first entry of an id stays. */
public final class FakeBucket implements PersistentCache {
    public final Map<Id, Entry> entries = new ConcurrentHashMap<>();
    public final AtomicInteger loads = new AtomicInteger();
    public final AtomicInteger stores = new AtomicInteger();
    final CountDownLatch storing = new CountDownLatch(1);
    public final CountDownLatch released = new CountDownLatch(1);
    public volatile Mood mood = Mood.WORKS;

    /** How it answers. */
    public enum Mood {
        WORKS,
        IS_DOWN,
        IS_DAMAGED,
        REFUSES_WRITES,
        HANGS,
        THROWS
    }

    @Override
    public LoadResult load(Id id) {
        loads.incrementAndGet();
        return switch (mood) {
            case IS_DOWN -> new LoadResult.Unavailable("nobody answers");
            case IS_DAMAGED -> new LoadResult.Damaged(DamageKind.TRUNCATED, "half of it");
            case WORKS, REFUSES_WRITES, HANGS, THROWS -> {
                Entry entry = entries.get(id);
                yield entry == null ? LoadResult.ABSENT : new LoadResult.Hit(entry);
            }
        };
    }

    @Override
    public StoreResult store(Entry entry) {
        stores.incrementAndGet();
        storing.countDown();
        return switch (mood) {
            case IS_DOWN, IS_DAMAGED -> new StoreResult.Failed("nobody answers");
            case REFUSES_WRITES -> new StoreResult.Refused("not allowed");
            case THROWS -> throw new IllegalStateException("this store has a bug");
            case HANGS -> hang(entry);
            case WORKS -> keep(entry);
        };
    }

    private StoreResult keep(Entry entry) {
        Entry first = entries.putIfAbsent(entry.id(), entry);
        if (first == null) {
            return new StoreResult.Stored(entry.binaries().byteSize());
        }
        return first.contentHash().equals(entry.contentHash()) ? StoreResult.DUPLICATE : StoreResult.DIVERGENT;
    }

    private StoreResult hang(Entry entry) {
        try {
            released.await();
            return keep(entry);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new StoreResult.Unknown("interrupted");
        }
    }

    @Override
    public void discard(Entry entry) {}

    @Override
    public void close() {}
}
