package dev.granary.benchmarks.bucket.warm;

import dev.granary.benchmarks.bucket.workload.BucketWorkload;
import dev.granary.cache.LoadResult;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * Check that a local directory contains the whole workload with the right bytes. Otherwise the
 * benchmark fails, so that no time of an incomplete copy is reported.
 */
final class DirectoryChecker {
    private DirectoryChecker() {}

    /**
     * Looks up every entry.
     *
     * @throws IOException if a lookup misses or returns other bytes
     */
    static void requireAll(BucketWorkload material, Path directory) throws IOException {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(WarmCommandFiller.capacityMebibytes(material) << 20)
                .build())) {
            for (int index = 0; index < material.count(); index++) {
                try (Arena arena = Arena.ofConfined()) {
                    LoadResult found = tier.load(material.id(index), arena);
                    if (!(found instanceof LoadResult.Hit hit)) {
                        throw new IOException(
                                "After warming, entry " + index + " is no hit: " + found);
                    }
                    if (hit.entry()
                                    .binaries()
                                    .segments()
                                    .getFirst()
                                    .mismatch(MemorySegment.ofArray(material.binary(index)))
                            >= 0) {
                        throw new IOException("After warming, entry " + index + " has other bytes");
                    }
                }
            }
        } catch (LocalDirectoryException e) {
            throw new IOException(e);
        }
    }
}
