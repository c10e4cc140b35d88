package dev.granary.it.bench.local;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.local.LocalConfig;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import java.io.IOException;
import java.nio.file.Path;

/** The local tier as it is. */
final class Tier implements Candidate {
    private final LocalTier tier;

    Tier(Path directory) throws LocalDirectoryException {
        this.tier = LocalTier.open(LocalConfig.builder(directory).build());
    }

    @Override
    public void put(Entry entry) throws IOException {
        if (!(tier.store(entry) instanceof StoreResult.Stored)) {
            throw new IOException("not stored: " + entry);
        }
    }

    @Override
    public long get(Entry entry) throws IOException {
        if (tier.load(entry.id()) instanceof LoadResult.Hit hit) {
            return hit.entry().binaries().byteSize();
        }
        throw new IOException("no hit: " + entry);
    }

    @Override
    public void close() {
        tier.close();
    }
}
