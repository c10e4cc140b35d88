package dev.granary.cache.contract;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.InMemoryCache.OtherContent;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The contract suite applied to the in-memory store, and tests of its additions. */
class InMemoryCacheTest {
    private final TestEntries entries = new TestEntries(getClass().getName());

    @Nested
    @DisplayName("a store that keeps the first entry")
    class KeepFirst extends PersistentCacheContract {
        private final InMemoryCache store = new InMemoryCache(OtherContent.KEEP_FIRST);

        @Override
        protected PersistentCache openCache() {
            return store.reopened();
        }
    }

    @Nested
    @DisplayName("a store that replaces entries")
    class Replace extends PersistentCacheContract {
        private final InMemoryCache store = new InMemoryCache(OtherContent.REPLACE);

        @Override
        protected PersistentCache openCache() {
            return store.reopened();
        }
    }

    @Test
    @DisplayName("damage is a miss, discard does not remove it, and the next store replaces it")
    void heals() {
        for (OtherContent otherContent : OtherContent.values()) {
            try (InMemoryCache store = new InMemoryCache(otherContent)) {
                Entry entry = entries.entry(100);
                store.store(entry);
                byte[] sound = assertNotNullBytes(store.bytes(entry.id()));
                byte[] bad = sound.clone();
                bad[bad.length - 1]++;
                store.plant(entry.id(), bad);
                assertThat(store.load(entry.id())).isDamaged(DamageKind.CORRUPT);
                store.discard(entry);
                assertArrayEquals(bad, store.bytes(entry.id()));
                assertThat(store.store(entry)).isStored();
                assertArrayEquals(sound, store.bytes(entry.id()));
                assertEquals(1, store.size());
                assertNull(store.bytes(entries.id()));
            }
        }
    }

    private static byte[] assertNotNullBytes(byte @org.jspecify.annotations.Nullable [] bytes) {
        assertNotNull(bytes);
        return bytes == null ? new byte[0] : bytes;
    }
}
