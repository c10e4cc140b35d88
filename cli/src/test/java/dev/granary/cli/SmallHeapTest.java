package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.Target;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.TestKernels;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * Tests of commands in a process with a small heap, on files that declare or have lengths beyond
 * that heap.
 */
class SmallHeapTest {
    // docs/entry-format.md: the header's fixed part, and the section table behind it
    private static final int TABLE = 80;
    private static final int SECTIONS_AT = 12;
    private static final int ROW = 24;
    private static final int ROW_CHECKSUM = 4;
    private static final int ROW_STORED = 8;

    @TempDir
    private Path directory = Path.of("");

    /** Overwrites the beginning of an entry's metadata section, and corrects both checksums. */
    private static void changeMetadata(byte[] entry, byte[] metadata) {
        ByteBuffer in = ByteBuffer.wrap(entry);
        int header = TABLE + in.getShort(SECTIONS_AT) * ROW;
        int row = TABLE + ROW;
        int at = header + Integer.BYTES + (int) in.getLong(TABLE + ROW_STORED);
        System.arraycopy(metadata, 0, entry, at, metadata.length);
        in.putInt(row + ROW_CHECKSUM, crc(entry, at, (int) in.getLong(row + ROW_STORED)));
        in.putInt(header, crc(entry, 0, header));
    }

    private static int crc(byte[] bytes, int from, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }

    @Test
    @DisplayName("with a heap of 128 MiB, metadata that declares 256 Mi characters, an"
            + " endless source and an entry of 256 MiB are reported")
    void reported() throws Exception {
        Path local = directory.resolve("local");
        Entry entry = new TestEntries("hostile metadata").entry(100);
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(local).build())) {
            tier.store(entry);
        }
        StoredEntry stored = StoredEntry.in(local).getFirst();
        byte[] bytes = stored.bytes();
        changeMetadata(bytes, HexFormat.of().parseHex("03feffffff0f"));
        stored.overwrite(bytes);
        ChildJvm.Result result = ChildJvm.of(Commands.class)
                .shortLived()
                .flags("-Xmx128m")
                .run(
                        local.toString(),
                        entry.id().hash().hex(),
                        directory.resolve("tree").toString());
        assertTrue(result.output().contains("all as expected"), result::toString);
    }

    /** Runs the commands in a process of its own. */
    static final class Commands {
        private Commands() {}

        private static void extend(StoredEntry stored) throws IOException {
            try (RandomAccessFile file = new RandomAccessFile(stored.file().toFile(), "rw")) {
                file.setLength(256 << 20); // sparse: takes no disk space
            }
        }

        /** Arguments: the local directory, the id of its entry, and the directory to copy to. */
        public static void main(String[] arguments) throws IOException {
            String local = arguments[0];
            for (List<String> command :
                    List.of(List.of("inspect", arguments[1]), List.of("ls"), List.of("verify"))) {
                Cli.run(Stream.concat(command.stream(), Stream.of("--dir", local))
                                .toArray(String[]::new))
                        .exits(0);
            }
            Cli.run("copy", local, arguments[2]).exits(0);
            extend(StoredEntry.in(Path.of(local)).getFirst());
            Cli copied = Cli.run("copy", local, arguments[2] + "-2", "--json").exits(1);
            assertEquals(1, copied.json().get("failed").getAsInt(), copied::toString);
            KernelSpec kernel = TestKernels.of("k", Path.of("/dev/zero"));
            Target target = new Target(Backend.OPENCL, "v", "d", "1");
            assertThrows(IOException.class, () -> KernelSourceResolver.descriptor(kernel, target));
            System.out.println("all as expected");
        }
    }
}
