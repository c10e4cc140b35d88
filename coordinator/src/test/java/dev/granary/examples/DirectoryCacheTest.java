package dev.granary.examples;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.PersistentCacheContract;

import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

/** The contract suite for {@link DirectoryCache}. */
class DirectoryCacheTest extends PersistentCacheContract {
    private final Path directory;

    DirectoryCacheTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @Override
    protected PersistentCache openCache() {
        return new DirectoryCache(directory);
    }
}
