package dev.granary.benchmarks.bucket.workload;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Tests of the workload of the bucket benchmark. */
class BucketWorkloadTest {
    private static final int ENTRIES = 500;

    @Test
    @DisplayName("the workload: log-normal with a mean of 37 kB; random content does not compress,"
            + " that of kernels about 2.5 times")
    void workload() {
        assertEquals(1, ratio(PayloadKind.RANDOM), 0.02);
        assertEquals(2.5, ratio(PayloadKind.KERNELS), 0.2);
        assertEquals(37, BucketWorkload.workload(PayloadKind.RANDOM, 1, 10_000).bytes() / 1e7, 1);
    }

    @Test
    @DisplayName("the same number is the same entry each time, another number another one")
    void same() {
        BucketWorkload material = BucketWorkload.workload(PayloadKind.KERNELS, 1, 3);
        assertArrayEquals(
                material.binary(2),
                BucketWorkload.workload(PayloadKind.KERNELS, 1, 3).binary(2));
        assertEquals(material.id(2), material.id(2));
        assertTrue(!material.id(1).equals(material.id(2)));
    }

    private static double ratio(PayloadKind content) {
        BucketWorkload material = BucketWorkload.workload(content, 1, ENTRIES);
        long stored = 0;
        for (int index = 0; index < ENTRIES; index++) {
            stored += EntryFormat.encode(material.entry(index), Compression.ZSTD).length;
        }
        return (double) material.bytes() / stored;
    }
}
