package dev.granary.benchmarks.local;

import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.io.IOException;
import java.nio.file.Path;

/** Local tier through its public API. */
final class LocalTierStore implements CandidateStore {
    private static final int MOST_WAITS = 30;

    private final LocalTier tier;

    LocalTierStore(Path directory, long capacity) throws IOException {
        this.tier = open(directory, capacity);
    }

    private static LocalTier open(Path directory, long capacity) throws IOException {
        try {
            return LocalTier.open(
                    LocalTierConfig.builder(directory).capacityBytes(capacity).build());
        } catch (LocalDirectoryException e) {
            throw new IOException(e);
        }
    }

    @Override
    public void put(LocalWorkload.Item item) throws IOException {
        StoreResult result = tier.store(item.entry());
        if (!(result instanceof StoreResult.Stored)) {
            throw new IOException(item.entry() + ": " + result);
        }
    }

    @Override
    public Reader reader(StoreCandidate how) {
        return id -> {
            LoadResult result = tier.load(id);
            if (!(result instanceof LoadResult.Hit)) {
                throw new IOException(id + ": " + result);
            }
        };
    }

    @Override
    public Listed list() throws IOException {
        long[] sums = new long[2];
        tier.list(listed -> {
            sums[0]++;
            sums[1] += CandidateStore.onDisk(listed.bytes());
        });
        return new Listed(sums[0], sums[1]);
    }

    @Override
    public void sweep(long capacity) throws IOException {
        try (LocalTier other = open(tier.directory(), capacity)) { // this one keeps its capacity
            for (int waits = 0; !other.enforceCapacity(); waits++) { // each takes 2 s
                if (waits == MOST_WAITS) {
                    throw new IOException("another sweep does not end");
                }
            }
        }
    }

    @Override
    public void close() {
        tier.close();
    }
}
