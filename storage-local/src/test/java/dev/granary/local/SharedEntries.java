package dev.granary.local;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;

/** Factory of entries that are equal in every process, made from a name and a size. */
public final class SharedEntries {
    private SharedEntries() {}

    public static Entry entry(String name, int bytes) {
        byte[] binary = new byte[bytes];
        for (int i = 0; i < bytes; i++) {
            binary[i] = (byte) (name.hashCode() * 31 + i * 7 + (i >> 8));
        }
        return TestEntries.entry(TestEntries.id(name), KernelBinaries.of(binary));
    }
}
