package dev.granary.cache.format;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;

/** Runs in a JVM where zstd-jni finds no native library: another platform, or a temporary directory that allows none. */
final class NoZstdProcess {
    private NoZstdProcess() {}

    public static void main(String[] arguments) {
        Entry entry = TestEntries.entry(TestEntries.id("a"), KernelBinaries.of(TestEntries.compressible(10_000)));
        System.out.println("raw " + isHit(EntryBytesEditor.of(entry, Compression.NONE).decode(entry.id()), entry));
        System.out.println("asked for zstd, stored raw " + isHit(EntryBytesEditor.of(entry, Compression.ZSTD).decode(entry.id()), entry));
        EntryBytesEditor packed = EntryBytesEditor.of(entry, Compression.NONE).putShort(EntryBytesEditor.row(2, EntryBytesEditor.ROW_ENCODING), EntrySection.ZSTD).resealed();
        System.out.println("packed " + EntryBytesEditor.damage(packed.decode(entry.id())));
    }

    private static boolean isHit(LoadResult result, Entry entry) {
        return result instanceof LoadResult.Hit hit && hit.entry().binaries().equals(entry.binaries());
    }
}
