package dev.granary.benchmarks.local.store;

import dev.granary.cache.Id;

import org.jspecify.annotations.Nullable;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.Txn;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * LMDB through lmdbjava, with one transaction per operation and without a sync. A reader renews its
 * own transaction.
 */
final class LmdbStore implements CandidateStore {
    private static final long MAP_BYTES = 32L << 30;

    private final Env<ByteBuffer> environment;
    private final Dbi<ByteBuffer> database;
    private final ByteBuffer key = ByteBuffer.allocateDirect(32);

    LmdbStore(Path directory) {
        this.environment = Env.create()
                .setMapSize(MAP_BYTES)
                .setMaxDbs(1)
                .open(directory.toFile(), EnvFlags.MDB_NOSYNC, EnvFlags.MDB_NOTLS);
        this.database = environment.openDbi("entries", DbiFlags.MDB_CREATE);
    }

    @Override
    public void put(WorkloadItem item) {
        try (Txn<ByteBuffer> transaction = environment.txnWrite()) {
            ByteBuffer place =
                    database.reserve(transaction, set(key, item.id()), item.frame().length);
            place.put(item.frame());
            transaction.commit();
        }
    }

    @Override
    public void remove(Id id) {
        try (Txn<ByteBuffer> transaction = environment.txnWrite()) {
            database.delete(transaction, set(key, id));
            transaction.commit();
        }
    }

    @Override
    public Reader reader(StoreCandidate how) {
        return new LmdbReader(how == StoreCandidate.LMDB_COPIED ? EntryFrames.buffer() : null);
    }

    @Override
    public StoreCandidate owner() {
        return StoreCandidate.LMDB;
    }

    @Override
    public void close() {
        environment.close();
    }

    private static ByteBuffer set(ByteBuffer key, Id id) {
        return key.clear().put(id.hash().bytes()).flip();
    }

    /** Reader in one renewed read transaction. */
    private final class LmdbReader implements Reader {
        private final ByteBuffer key = ByteBuffer.allocateDirect(32);
        private final Txn<ByteBuffer> transaction = environment.txnRead();
        private final MemorySegment copy;

        LmdbReader(@Nullable ByteBuffer copy) {
            this.copy = copy == null ? MemorySegment.NULL : MemorySegment.ofBuffer(copy);
            transaction.reset();
        }

        @Override
        public long get(Id id) throws IOException {
            transaction.renew();
            try {
                ByteBuffer found = database.get(transaction, set(key, id));
                if (found == null) {
                    return ABSENT;
                }
                MemorySegment frame = MemorySegment.ofBuffer(found);
                return EntryFrames.verified(
                        copy.equals(MemorySegment.NULL) ? frame : copied(frame), id);
            } finally {
                transaction.reset();
            }
        }

        private MemorySegment copied(MemorySegment frame) {
            return copy.asSlice(0, frame.byteSize()).copyFrom(frame);
        }

        @Override
        public void close() {
            transaction.close();
        }
    }
}
