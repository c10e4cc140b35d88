package dev.granary.benchmarks.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/**
 * What is compared: a store and a way of reading it. Two candidates on one store share its
 * directory.
 */
enum StoreCandidate {
    /** A file per entry, read into a reused buffer, no check: the measure of the others. */
    RAW("raw"),
    /** The same files, verified. */
    RAW_VERIFIED("raw-verified"),
    /** The local tier, an arena per look-up that is closed afterwards. */
    TIER("tier"),
    /** The local tier, entries that live until the garbage collector finds them unused. */
    TIER_KEPT("tier-kept"),
    /** LMDB, verified in place: the binaries are good only while the transaction lasts. */
    LMDB("lmdb"),
    /**
     * LMDB, copied out into a reused buffer and then verified: binaries that outlive the
     * transaction.
     */
    LMDB_COPIED("lmdb-copied"),
    /** RocksDB with blob files. */
    ROCKSDB("rocksdb"),
    /** SQLite with a write-ahead log. */
    SQLITE("sqlite"),
    /** Ehcache 3, its disk tier alone. */
    EHCACHE("ehcache"),
    /** DiskLruCache. */
    DISK_LRU_CACHE("disklrucache"),
    /** The layout of oneDNN's RFC for a persistent cache. */
    RFC("rfc");

    private final String label;

    StoreCandidate(String label) {
        this.label = label;
    }

    /** What people write and read. */
    String label() {
        return label;
    }

    static Optional<StoreCandidate> ofLabel(String label) {
        return Arrays.stream(values())
                .filter(candidate -> candidate.label.equals(label.toLowerCase(Locale.ROOT)))
                .findFirst();
    }

    /**
     * The candidate whose store this one reads: itself, or the one that the store is filled for.
     */
    StoreCandidate owner() {
        return switch (this) {
            case RAW_VERIFIED -> RAW;
            case TIER_KEPT -> TIER;
            case LMDB_COPIED -> LMDB;
            case RAW, TIER, LMDB, ROCKSDB, SQLITE, EHCACHE, DISK_LRU_CACHE, RFC -> this;
        };
    }

    /** True where two processes may have it open at once. */
    boolean isShareable() {
        return switch (this) {
            case RAW, RAW_VERIFIED, TIER, TIER_KEPT, LMDB, LMDB_COPIED, SQLITE, RFC -> true;
            case ROCKSDB, EHCACHE, DISK_LRU_CACHE -> false;
        };
    }

    /** True where the store keeps to a capacity by itself. */
    boolean evicts() {
        return switch (owner()) {
            case TIER, TIER_KEPT, EHCACHE, DISK_LRU_CACHE -> true;
            case RAW, RAW_VERIFIED, LMDB, LMDB_COPIED, ROCKSDB, SQLITE, RFC -> false;
        };
    }

    /**
     * Opens its store in a directory of its own under {@code parent}.
     *
     * @param capacity how many bytes of entries may lie there, for those that evict
     */
    CandidateStore open(Path parent, long capacity) throws IOException {
        Path directory = Files.createDirectories(directory(parent));
        return switch (owner()) {
            case RAW, RAW_VERIFIED -> new RawFiles(directory);
            case TIER, TIER_KEPT -> new LocalTierStore(directory, capacity);
            case LMDB, LMDB_COPIED -> new LmdbStore(directory);
            case ROCKSDB -> new RocksDbStore(directory);
            case SQLITE -> new SqliteStore(directory);
            case EHCACHE -> new EhcacheStore(directory, capacity);
            case DISK_LRU_CACHE -> new DiskLruStore(directory, capacity);
            case RFC -> new OneDnnRfcStore(directory);
        };
    }

    /** The directory of its store under {@code parent}. */
    Path directory(Path parent) {
        return parent.resolve(owner().label);
    }
}
