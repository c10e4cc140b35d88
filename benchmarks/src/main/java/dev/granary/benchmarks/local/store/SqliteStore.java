package dev.granary.benchmarks.local.store;

import dev.granary.cache.Id;

import org.sqlite.SQLiteConfig;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * SQLite with a write-ahead log, without a sync, with pages of 16 KiB and mapped reads. Rows are
 * found by the first 64 bits of the hash, the fastest kind of key; the frame verifies the id. Each
 * thread has its own connection.
 */
final class SqliteStore implements CandidateStore {
    private static final int PAGE_BYTES = 16 << 10;
    // its compiled-in maximum
    private static final String MAPPED_BYTES = Long.toString(Integer.MAX_VALUE);

    private final String address;
    private final Connection writer;
    private final PreparedStatement insert;
    private final PreparedStatement delete;

    SqliteStore(Path directory) throws IOException {
        this.address = "jdbc:sqlite:" + directory.resolve("entries.db");
        try {
            this.writer = connect();
            try (var statement = writer.createStatement()) {
                statement.executeUpdate(
                        "create table if not exists entries (name integer primary key, frame blob"
                                + " not null)");
            }
            this.insert = writer.prepareStatement("insert or replace into entries values (?, ?)");
            this.delete = writer.prepareStatement("delete from entries where name = ?");
        } catch (SQLException e) {
            throw new IOException(e);
        }
    }

    @Override
    public void put(WorkloadItem item) throws IOException {
        try {
            insert.setLong(1, name(item.id()));
            insert.setBytes(2, item.frame());
            insert.executeUpdate();
        } catch (SQLException e) {
            throw new IOException(e);
        }
    }

    @Override
    public void remove(Id id) throws IOException {
        try {
            delete.setLong(1, name(id));
            delete.executeUpdate();
        } catch (SQLException e) {
            throw new IOException(e);
        }
    }

    @Override
    public Reader reader(StoreCandidate how) throws IOException {
        try {
            return new SqliteReader(connect());
        } catch (SQLException e) {
            throw new IOException(e);
        }
    }

    @Override
    public StoreCandidate owner() {
        return StoreCandidate.SQLITE;
    }

    @Override
    public void close() throws IOException {
        try {
            writer.close();
        } catch (SQLException e) {
            throw new IOException(e);
        }
    }

    private Connection connect() throws SQLException {
        SQLiteConfig config = new SQLiteConfig();
        config.setPageSize(PAGE_BYTES);
        config.setJournalMode(SQLiteConfig.JournalMode.WAL);
        config.setSynchronous(SQLiteConfig.SynchronousMode.OFF);
        config.setPragma(SQLiteConfig.Pragma.MMAP_SIZE, MAPPED_BYTES);
        config.setBusyTimeout(10_000);
        return config.createConnection(address);
    }

    private static long name(Id id) {
        return ByteBuffer.wrap(id.hash().bytes()).getLong();
    }

    /** Reader with a connection and a prepared statement of its own. */
    private static final class SqliteReader implements Reader {
        private final Connection connection;
        private final PreparedStatement select;

        SqliteReader(Connection connection) throws SQLException {
            this.connection = connection;
            this.select = connection.prepareStatement("select frame from entries where name = ?");
        }

        @Override
        public long get(Id id) throws IOException {
            try {
                select.setLong(1, name(id));
                try (ResultSet rows = select.executeQuery()) {
                    return rows.next()
                            ? EntryFrames.verified(MemorySegment.ofArray(rows.getBytes(1)), id)
                            : ABSENT;
                }
            } catch (SQLException e) {
                throw new IOException(e);
            }
        }

        @Override
        public void close() throws IOException {
            try {
                connection.close();
            } catch (SQLException e) {
                throw new IOException(e);
            }
        }
    }
}
