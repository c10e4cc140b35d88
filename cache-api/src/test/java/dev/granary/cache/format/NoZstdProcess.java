package dev.granary.cache.format;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat.Compression;

/**
 * A process in which zstd-jni finds no native library, as on another platform or without a usable
 * temporary directory.
 */
final class NoZstdProcess {
    private NoZstdProcess() {}

    public static void main(String[] arguments) {
        Entry entry = TestEntries.entry(
                TestEntries.id("a"), KernelBinaries.of(TestEntries.compressible(10_000)));
        System.out.println("raw "
                + isHit(EntryBytesEditor.of(entry, Compression.NONE).decode(entry.id()), entry));
        System.out.println("zstd requested, stored raw "
                + isHit(EntryBytesEditor.of(entry, Compression.ZSTD).decode(entry.id()), entry));
        EntryBytesEditor compressed = EntryBytesEditor.of(entry, Compression.NONE)
                .putShort(EntryBytesEditor.row(3, EntryBytesEditor.ROW_ENCODING), EntrySection.ZSTD)
                .resealed();
        System.out.println("compressed " + EntryBytesEditor.damage(compressed.decode(entry.id())));
    }

    private static boolean isHit(LoadResult result, Entry entry) {
        return result instanceof LoadResult.Hit hit
                && hit.entry().binaries().equals(entry.binaries());
    }
}
