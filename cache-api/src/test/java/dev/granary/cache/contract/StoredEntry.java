package dev.granary.cache.contract;

import dev.granary.cache.Id;
import dev.granary.cache.format.EntryFormat;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The bytes of an entry in a file of a store, raw and at a multiple of 64 bytes, for tests that
 * damage them.
 */
public final class StoredEntry {
    private static final int UNIT = 64;

    private final Path file;
    private final int offset;
    private final byte[] bytes;

    private StoredEntry(Path file, int offset, byte[] bytes) {
        this.file = file;
        this.offset = offset;
        this.bytes = bytes;
    }

    /** Returns the entries in all files below a directory; of several with one id the last. */
    public static List<StoredEntry> in(Path directory) throws IOException {
        Map<Id, StoredEntry> newest = new LinkedHashMap<>();
        try (Stream<Path> segments = Files.walk(directory)) {
            for (Path file : segments.filter(Files::isRegularFile).sorted().toList()) {
                byte[] all = Files.readAllBytes(file);
                for (int offset = 0; offset < all.length; offset += UNIT) {
                    long length = EntryFormat.statedLength(ByteBuffer.wrap(all), offset);
                    if (length > 0 && offset + length <= all.length) {
                        byte[] bytes = Arrays.copyOfRange(all, offset, (int) (offset + length));
                        int at = offset;
                        EntryFormat.readId(MemorySegment.ofArray(bytes)).ifPresent(id -> {
                            newest.remove(id);
                            newest.put(id, new StoredEntry(file, at, bytes));
                        });
                    }
                }
            }
        }
        return new ArrayList<>(newest.values());
    }

    /** Returns the stored bytes. */
    public byte[] bytes() {
        return bytes.clone();
    }

    /** Overwrites the entry with other bytes, padded with zeros. */
    public void overwrite(byte[] other) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(
                    ByteBuffer.wrap(Arrays.copyOf(other, (bytes.length + UNIT - 1) / UNIT * UNIT)),
                    offset);
        }
    }
}
