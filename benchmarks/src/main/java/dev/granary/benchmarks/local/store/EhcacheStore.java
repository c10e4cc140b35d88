package dev.granary.benchmarks.local.store;

import dev.granary.cache.Id;

import org.ehcache.Cache;
import org.ehcache.PersistentCacheManager;
import org.ehcache.config.builders.CacheConfigurationBuilder;
import org.ehcache.config.builders.CacheManagerBuilder;
import org.ehcache.config.builders.ResourcePoolsBuilder;
import org.ehcache.config.units.MemoryUnit;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** Ehcache 3 with its disk tier alone, of byte arrays; one process at a time. */
final class EhcacheStore implements CandidateStore {
    private static final String NAME = "entries";

    private final PersistentCacheManager manager;
    private final Cache<String, byte[]> cache;

    EhcacheStore(Path directory, long capacity) {
        this.manager = CacheManagerBuilder.newCacheManagerBuilder()
                .with(CacheManagerBuilder.persistence(directory.toFile()))
                .withCache(
                        NAME,
                        CacheConfigurationBuilder.newCacheConfigurationBuilder(
                                String.class,
                                byte[].class,
                                ResourcePoolsBuilder.newResourcePoolsBuilder()
                                        .disk(capacity, MemoryUnit.B, true)))
                .build(true);
        this.cache = manager.getCache(NAME, String.class, byte[].class);
    }

    @Override
    public void put(WorkloadItem item) {
        cache.put(item.id().hash().hex(), item.frame());
    }

    @Override
    public void remove(Id id) {
        throw new UnsupportedOperationException("Ehcache evicts by itself");
    }

    @Override
    public Reader reader(StoreCandidate how) {
        return id -> {
            byte[] frame = cache.get(id.hash().hex());
            return frame == null
                    ? Reader.ABSENT
                    : EntryFrames.verified(MemorySegment.ofArray(frame), id);
        };
    }

    @Override
    public StoreCandidate owner() {
        return StoreCandidate.EHCACHE;
    }

    @Override
    public void close() {
        manager.close();
    }
}
