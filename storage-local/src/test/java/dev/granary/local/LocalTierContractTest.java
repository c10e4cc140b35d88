package dev.granary.local;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.PersistentCacheContract;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;

/** Contract suite of persistent caches, run on the local tier. */
final class LocalTierContractTest extends PersistentCacheContract {
    @TempDir
    private Path temporary;

    @Override
    protected PersistentCache openCache() throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(temporary.resolve("some/cache"))
                .background(Runnable::run)
                .build());
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(temporary.resolve("some/cache"));
    }
}
