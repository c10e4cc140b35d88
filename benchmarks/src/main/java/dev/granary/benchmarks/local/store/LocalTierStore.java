package dev.granary.benchmarks.local.store;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTierConfig;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The local tier through its public API. */
final class LocalTierStore implements CandidateStore {
    private final LocalTier tier;

    LocalTierStore(Path directory, long capacity) throws IOException {
        try {
            this.tier = LocalTier.open(LocalTierConfig.builder(directory.resolve("tier"))
                    .capacityBytes(capacity)
                    .build());
        } catch (LocalDirectoryException e) {
            throw new IOException(e);
        }
    }

    @Override
    public void put(WorkloadItem item) throws IOException {
        if (!(tier.store(item.entry()) instanceof StoreResult.Stored)) {
            throw new IOException("not stored: " + item.entry());
        }
    }

    @Override
    public void remove(Id id) {
        throw new UnsupportedOperationException("the tier evicts by itself");
    }

    @Override
    public Reader reader(StoreCandidate how) {
        return how == StoreCandidate.TIER_KEPT ? id -> bytes(tier.load(id)) : this::getAndFree;
    }

    /**
     * Reads listed entries. These reads are not recorded as uses, so they do not affect later
     * evictions.
     */
    @Override
    public long liveBytes(Map<Id, Integer> put) throws IOException {
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        tier.list(listed::add);
        long bytes = 0;
        for (EntryCatalog.Listed each : listed) {
            try (Arena arena = Arena.ofConfined()) {
                if (tier.read(each, arena) instanceof LoadResult.Hit hit) {
                    bytes += put.getOrDefault(hit.entry().id(), 0);
                }
            }
        }
        return bytes;
    }

    @Override
    public StoreCandidate owner() {
        return StoreCandidate.TIER;
    }

    @Override
    public void close() {
        tier.close();
    }

    private long getAndFree(Id id) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            return bytes(tier.load(id, arena));
        }
    }

    private static long bytes(LoadResult found) throws IOException {
        return switch (found) {
            case LoadResult.Hit hit -> hit.entry().binaries().byteSize();
            case LoadResult.Absent _ -> Reader.ABSENT;
            case LoadResult.Damaged _, LoadResult.Unavailable _ ->
                throw new IOException(found.toString());
        };
    }
}
