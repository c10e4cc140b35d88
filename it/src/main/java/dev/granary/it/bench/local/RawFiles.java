package dev.granary.it.bench.local;

import dev.granary.cache.Entry;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.PutId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/** A file per entry without any check, read into one buffer again and again. */
final class RawFiles implements Candidate {
    private static final int LARGEST = 16 << 20;

    private final Path directory;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(LARGEST);

    RawFiles(Path directory) throws IOException {
        this.directory = Files.createDirectories(directory);
    }

    @Override
    public void put(Entry entry) throws IOException {
        Path file = file(entry);
        Files.createDirectories(file.resolveSibling("."));
        Path aside = directory.resolve("aside");
        Files.write(aside, EntryFormat.encode(entry, Compression.NONE, PutId.NONE));
        Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public long get(Entry entry) throws IOException {
        try (FileChannel channel = FileChannel.open(file(entry), StandardOpenOption.READ)) {
            buffer.clear();
            while (channel.read(buffer) > 0) {
                // to the end
            }
            return buffer.position();
        }
    }

    @Override
    public void close() {}

    private Path file(Entry entry) {
        String hex = entry.id().hash().hex();
        return directory.resolve(hex.substring(0, 2)).resolve(hex);
    }
}
