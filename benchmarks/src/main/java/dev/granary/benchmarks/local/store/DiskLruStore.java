package dev.granary.benchmarks.local.store;

import com.jakewharton.disklrucache.DiskLruCache;

import dev.granary.cache.Id;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** DiskLruCache with one value per entry, read into a reused array; one process at a time. */
final class DiskLruStore implements CandidateStore {
    private final DiskLruCache cache;

    DiskLruStore(Path directory, long capacity) throws IOException {
        this.cache = DiskLruCache.open(directory.toFile(), 1, 1, capacity);
    }

    @Override
    public void put(WorkloadItem item) throws IOException {
        DiskLruCache.Editor editor = cache.edit(item.id().hash().hex());
        try (OutputStream out = editor.newOutputStream(0)) {
            out.write(item.frame());
        }
        editor.commit();
    }

    @Override
    public void remove(Id id) {
        throw new UnsupportedOperationException("DiskLruCache evicts by itself");
    }

    @Override
    public Reader reader(StoreCandidate how) {
        byte[] buffer = new byte[EntryFrames.LARGEST];
        MemorySegment memory = MemorySegment.ofArray(buffer);
        return id -> get(id, buffer, memory);
    }

    @Override
    public StoreCandidate owner() {
        return StoreCandidate.DISK_LRU_CACHE;
    }

    @Override
    public void close() throws IOException {
        cache.close();
    }

    private long get(Id id, byte[] buffer, MemorySegment memory) throws IOException {
        try (DiskLruCache.Snapshot snapshot = cache.get(id.hash().hex())) {
            if (snapshot == null) {
                return Reader.ABSENT;
            }
            int length = (int) snapshot.getLength(0);
            InputStream in = snapshot.getInputStream(0); // closed with the snapshot
            if (in.readNBytes(buffer, 0, length) != length) {
                throw new IOException(id + " is cut");
            }
            return EntryFrames.verified(memory.asSlice(0, length), id);
        }
    }
}
