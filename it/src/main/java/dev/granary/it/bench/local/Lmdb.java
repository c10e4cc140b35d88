package dev.granary.it.bench.local;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.PutId;
import dev.granary.cache.format.Verification;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.Txn;

/** LMDB through lmdbjava: one transaction per operation, nothing synced, since the local tier does not either. */
final class Lmdb implements Candidate {
    private static final long MAP_BYTES = 8L << 30;

    private final Env<ByteBuffer> environment;
    private final Dbi<ByteBuffer> database;
    private final Kind kind;

    Lmdb(Path directory, Kind kind) throws IOException {
        Files.createDirectories(directory);
        this.kind = kind;
        this.environment = Env.create().setMapSize(MAP_BYTES).setMaxDbs(1).open(directory.toFile(), EnvFlags.MDB_NOSYNC, EnvFlags.MDB_NOTLS);
        this.database = environment.openDbi("entries", DbiFlags.MDB_CREATE);
    }

    private Lmdb(Env<ByteBuffer> environment, Dbi<ByteBuffer> database, Kind kind) {
        this.environment = environment;
        this.database = database;
        this.kind = kind;
    }

    /** The same database, read the other way: LMDB must not be opened twice in one process. */
    Lmdb copying() {
        return new Lmdb(environment, database, Kind.LMDB_COPIED);
    }

    @Override
    public void put(Entry entry) {
        byte[] bytes = EntryFormat.encode(entry, Compression.NONE, PutId.NONE);
        try (Txn<ByteBuffer> transaction = environment.txnWrite()) {
            ByteBuffer place = database.reserve(transaction, key(entry), bytes.length);
            place.put(bytes);
            transaction.commit();
        }
    }

    @Override
    public long get(Entry entry) throws IOException {
        try (Txn<ByteBuffer> transaction = environment.txnRead()) {
            ByteBuffer found = database.get(transaction, key(entry));
            if (found == null) {
                throw new IOException("not there: " + entry);
            }
            MemorySegment stored = MemorySegment.ofBuffer(found);
            if (kind == Kind.LMDB_COPIED) {
                stored = Arena.ofAuto().allocate(stored.byteSize()).copyFrom(stored);
            }
            if (EntryFormat.decode(stored, entry.id(), Verification.CHECKSUMS) instanceof LoadResult.Hit hit) {
                return hit.entry().binaries().byteSize();
            }
            throw new IOException("no hit: " + entry);
        }
    }

    @Override
    public void close() {
        if (!environment.isClosed()) {
            environment.close();
        }
    }

    private static ByteBuffer key(Entry entry) {
        byte[] hash = entry.id().hash().bytes();
        return ByteBuffer.allocateDirect(hash.length).put(hash).flip();
    }
}
