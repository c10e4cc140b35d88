package dev.granary.local;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.cache.format.TrustPolicy;

import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

/** Contract suite of persistent caches, run on a shared directory. */
final class SharedDirectoryContractTest extends PersistentCacheContract {
    @TempDir
    private Path temporary;

    @Override
    protected PersistentCache openCache() {
        return new SharedDirectory(temporary.resolve("some/cache"), true, TrustPolicy.OFF);
    }
}
