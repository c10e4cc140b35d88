package dev.granary.benchmarks.local.store;

import dev.granary.cache.Id;

import org.rocksdb.CompressionType;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.NativeLibraryLoader;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteOptions;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * RocksDB with values in blob files, with garbage collection. Its own checksums are not verified:
 * the frame has one, and both together are three times slower.
 */
final class RocksDbStore implements CandidateStore {
    private static final long BLOB_FILE_BYTES = 32 << 20;

    private final Options options;
    private final WriteOptions writing;
    private final RocksDB database;

    RocksDbStore(Path directory) throws IOException {
        NativeLibraryLoader.getInstance().loadLibrary(NativeLibraries.place());
        this.writing = new WriteOptions().setSync(false);
        this.options = new Options()
                .setCreateIfMissing(true)
                .setEnableBlobFiles(true)
                .setMinBlobSize(1024)
                .setBlobFileSize(BLOB_FILE_BYTES)
                .setEnableBlobGarbageCollection(true)
                .setBlobGarbageCollectionAgeCutoff(0.5)
                .setBlobGarbageCollectionForceThreshold(0.5)
                .setCompressionType(CompressionType.NO_COMPRESSION)
                .setAllowMmapReads(true)
                .setInfoLogLevel(InfoLogLevel.FATAL_LEVEL);
        try {
            this.database = RocksDB.open(options, directory.toString());
        } catch (RocksDBException e) {
            throw new IOException(e);
        }
    }

    @Override
    public void put(WorkloadItem item) throws IOException {
        try {
            database.put(writing, item.id().hash().bytes(), item.frame());
        } catch (RocksDBException e) {
            throw new IOException(e);
        }
    }

    @Override
    public void remove(Id id) throws IOException {
        try {
            database.delete(writing, id.hash().bytes());
        } catch (RocksDBException e) {
            throw new IOException(e);
        }
    }

    @Override
    public Reader reader(StoreCandidate how) {
        return new RocksReader();
    }

    @Override
    public StoreCandidate owner() {
        return StoreCandidate.ROCKSDB;
    }

    @Override
    public void close() {
        database.close();
        writing.close();
        options.close();
    }

    /** Reader into direct buffers of its own. */
    private final class RocksReader implements Reader {
        private final ReadOptions reading = new ReadOptions().setVerifyChecksums(false);
        private final ByteBuffer key = ByteBuffer.allocateDirect(32);
        private final ByteBuffer buffer = EntryFrames.buffer();
        private final MemorySegment memory = MemorySegment.ofBuffer(buffer);

        @Override
        public long get(Id id) throws IOException {
            key.clear().put(id.hash().bytes()).flip();
            buffer.clear();
            try {
                int length = database.get(reading, key, buffer);
                return length == RocksDB.NOT_FOUND
                        ? ABSENT
                        : EntryFrames.verified(memory.asSlice(0, length), id);
            } catch (RocksDBException e) {
                throw new IOException(e);
            }
        }

        @Override
        public void close() {
            reading.close();
        }
    }
}
