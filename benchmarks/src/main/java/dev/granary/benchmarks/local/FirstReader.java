package dev.granary.benchmarks.local;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;

/**
 * New process that reads {@value #ENTRIES} entries of 100 KiB and prints a line. It uses nothing
 * else of the benchmarks, so another build of Granary can be measured with it.
 */
final class FirstReader {
    private static final int ENTRIES = 24;
    private static final int BYTES = 100 << 10;

    private FirstReader() {}

    /**
     * Arguments: {@code fill}, {@code none}, {@code raw}, {@code raw-verified} or {@code tier}; the
     * directory.
     */
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[1]);
        switch (arguments[0]) {
            case "fill" -> fill(directory);
            case "none" -> {}
            case "raw", "raw-verified" -> readFiles(directory, arguments[0].equals("raw-verified"));
            default -> readTier(directory);
        }
        System.out.println("done");
    }

    private static LocalTier open(Path directory) throws Exception {
        return LocalTier.open(LocalTierConfig.builder(directory.resolve("tier")).build());
    }

    private static Path file(Path directory, int index) {
        return directory.resolve(index + ".raw");
    }

    private static Id id(int index) {
        return Id.builder(new Target(Backend.OPENCL, "bench", "Bench Device", "1"))
                .field("n", index)
                .build();
    }

    private static void fill(Path directory) throws Exception {
        EntryMetadata metadata = new EntryMetadata(
                "bench", "bench", Instant.EPOCH, List.of("k"), List.of(), "bench");
        Random random = new Random(1);
        try (LocalTier tier = open(directory)) {
            for (int i = 0; i < ENTRIES; i++) {
                byte[] binary = new byte[BYTES];
                random.nextBytes(binary);
                CRC32C crc = new CRC32C();
                crc.update(binary);
                ByteBuffer file = ByteBuffer.allocate(BYTES + Long.BYTES);
                file.put(binary).putLong(crc.getValue());
                Files.write(file(directory, i), file.array());
                StoreResult stored = tier.store(Entry.of(
                        id(i), KernelBinaries.of(binary), Duration.ofMillis(100), metadata));
                if (!(stored instanceof StoreResult.Stored)) {
                    throw new IOException(stored.toString());
                }
            }
        }
    }

    private static void readFiles(Path directory, boolean verifies) throws IOException {
        for (int i = 0; i < ENTRIES; i++) {
            ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(file(directory, i)));
            if (verifies) {
                CRC32C crc = new CRC32C();
                crc.update(file.slice(0, BYTES));
                if (file.getLong(BYTES) != crc.getValue()) {
                    throw new IOException("wrong checksum: " + i);
                }
            }
        }
    }

    private static void readTier(Path directory) throws Exception {
        try (LocalTier tier = open(directory)) {
            for (int i = 0; i < ENTRIES; i++) {
                if (!(tier.load(id(i)) instanceof LoadResult.Hit)) {
                    throw new IOException("no hit: " + i);
                }
            }
        }
    }
}
