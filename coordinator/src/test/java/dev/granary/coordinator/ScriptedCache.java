package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.InMemoryCache;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;

/** A cache in memory, as of an application, of which a test replaces methods. Thread-safe. */
public final class ScriptedCache implements PersistentCache {
    public final InMemoryCache content = new InMemoryCache(InMemoryCache.OtherContent.KEEP_FIRST);
    public final AtomicInteger loads = new AtomicInteger();
    public final AtomicInteger stores = new AtomicInteger();
    public final AtomicInteger discards = new AtomicInteger();
    public final AtomicInteger closes = new AtomicInteger();
    public volatile Function<Id, LoadResult> onLoad = content::load;
    public volatile Function<Entry, StoreResult> onStore = content::store;
    public volatile Consumer<Entry> onDiscard = content::discard;

    /** Waits until {@code released}, whatever interrupts come. */
    public static void hang(CountDownLatch released) {
        boolean isReleased = false;
        while (!isReleased) {
            try {
                released.await();
                isReleased = true;
            } catch (InterruptedException e) {
                // as code that ignores interrupts
            }
        }
    }

    @Override
    public LoadResult load(Id id) {
        loads.incrementAndGet();
        return onLoad.apply(id);
    }

    @Override
    public StoreResult store(Entry entry) {
        stores.incrementAndGet();
        return onStore.apply(entry);
    }

    @Override
    public void discard(Entry entry) {
        discards.incrementAndGet();
        onDiscard.accept(entry);
    }

    @Override
    public void close() {
        closes.incrementAndGet();
        content.close();
    }
}
