package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A bucket in memory that several Granary instances share, with the failures of a real one. The
 * first entry of an id stays.
 */
public class FakeBucket implements PersistentCache {
    public final Map<Id, Entry> entries = new ConcurrentHashMap<>();
    public final AtomicInteger loads = new AtomicInteger();
    public final AtomicInteger stores = new AtomicInteger();
    final CountDownLatch storeStarted = new CountDownLatch(1);
    public final CountDownLatch released = new CountDownLatch(1);
    public final AtomicInteger closings = new AtomicInteger();
    public volatile Behavior behavior = Behavior.WORKS;

    /** Behavior of the bucket. */
    public enum Behavior {
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
        return switch (behavior) {
            case IS_DOWN -> new LoadResult.Unavailable("no route to host");
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
        storeStarted.countDown();
        return switch (behavior) {
            case IS_DOWN, IS_DAMAGED -> new StoreResult.Failed("no route to host");
            case REFUSES_WRITES -> new StoreResult.Refused(StoreResult.Scope.STORE, "not allowed");
            case THROWS -> throw new IllegalStateException("this store has a bug");
            case HANGS -> hang(entry);
            case WORKS -> insert(entry);
        };
    }

    private StoreResult insert(Entry entry) {
        Entry first = entries.putIfAbsent(entry.id(), entry);
        if (first == null) {
            return new StoreResult.Stored(entry.binaries().byteSize());
        }
        return first.contentHash().equals(entry.contentHash())
                ? StoreResult.DUPLICATE
                : StoreResult.DIVERGENT;
    }

    private StoreResult hang(Entry entry) {
        try {
            released.await();
            return insert(entry);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new StoreResult.Unknown("interrupted");
        }
    }

    @Override
    public void discard(Entry entry) {}

    @Override
    public void close() {
        closings.incrementAndGet();
    }
}
