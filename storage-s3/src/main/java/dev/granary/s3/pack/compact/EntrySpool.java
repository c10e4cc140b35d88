package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A temporary file of the entries that a compaction moves. They are read once, in the order of
 * their packs, and written in the order of their ids. For one thread.
 */
final class EntrySpool implements AutoCloseable {
    private final SortedMap<Sha256, Row> rows = new TreeMap<>(PackIndex.ORDER);
    private final FileChannel file;
    private long end;

    /** The place of an entry. */
    private record Row(long offset, int length, long compileNanos) {}

    EntrySpool() throws IOException {
        Path path = Files.createTempFile("granary-compact", ".part");
        this.file = FileChannel.open(
                path,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                StandardOpenOption.DELETE_ON_CLOSE);
    }

    /** Adds an entry; the first of an id stays. */
    void add(Sha256 id, byte[] entry, long compileNanos) throws IOException {
        if (rows.putIfAbsent(id, new Row(end, entry.length, compileNanos)) == null) {
            ByteBuffer from = ByteBuffer.wrap(entry);
            while (from.hasRemaining()) {
                end += file.write(from, end);
            }
        }
    }

    boolean contains(Sha256 id) {
        return rows.containsKey(id);
    }

    int size() {
        return rows.size();
    }

    /** Returns the ids in the order of packs. */
    Iterator<Sha256> ids() {
        return rows.keySet().iterator();
    }

    /** Adds an entry to a pack. */
    void copy(Sha256 id, PackBuilder to) throws IOException {
        Row row = Objects.requireNonNull(rows.get(id));
        ByteBuffer entry = ByteBuffer.allocate(row.length());
        while (entry.hasRemaining() && file.read(entry, row.offset() + entry.position()) >= 0) {}
        if (entry.hasRemaining()) {
            throw new IOException("The temporary file is too short");
        }
        to.add(id, entry.array(), row.compileNanos());
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
