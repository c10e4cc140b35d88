package dev.granary.it.bench.local;

import dev.granary.cache.Entry;
import java.io.IOException;
import java.nio.file.Path;

/** A store that may carry the local tier, opened on a directory. */
interface Candidate extends AutoCloseable {
    /** Stores an entry. */
    void put(Entry entry) throws IOException;

    /** Gets an entry's binaries, verified unless this is the one that does not; returns how many bytes that were. */
    long get(Entry entry) throws IOException;

    @Override
    void close();

    /** The kinds that are compared. */
    enum Kind {
        /** A file per entry, read into a reused buffer, no check: the measure of the others. */
        RAW,
        /** The local tier as it is. */
        TIER,
        /** LMDB, verified in place: the binaries are good only while the transaction lasts. */
        LMDB_IN_PLACE,
        /** LMDB, copied out and then verified: binaries that outlive the transaction, as a driver needs them. */
        LMDB_COPIED;

        Candidate open(Path directory) throws Exception {
            Path mine = directory.resolve(this == LMDB_COPIED ? LMDB_IN_PLACE.name() : name());
            return switch (this) {
                case RAW -> new RawFiles(mine);
                case TIER -> new Tier(mine);
                case LMDB_IN_PLACE, LMDB_COPIED -> new Lmdb(mine, this);
            };
        }
    }
}
