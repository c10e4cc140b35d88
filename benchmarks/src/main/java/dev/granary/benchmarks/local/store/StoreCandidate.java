package dev.granary.benchmarks.local.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/**
 * A candidate: a store and a way of reading it. Two candidates of one store share its directory.
 */
public enum StoreCandidate {
    /**
     * One file per entry, read into a reused buffer, without verification: the reference of the
     * others.
     */
    RAW("raw"),
    /** The same files, verified. */
    RAW_VERIFIED("raw-verified"),
    /**
     * The same files, read into new memory that the garbage collector frees, without verification:
     * the reference of {@link #TIER_KEPT}.
     */
    RAW_KEPT("raw-kept"),
    /** The local tier with an arena per lookup that is closed afterwards. */
    TIER("tier"),
    /** The local tier with entries that live until the garbage collector finds them unused. */
    TIER_KEPT("tier-kept"),
    /** LMDB with verification in place: the binaries are valid only during the transaction. */
    LMDB("lmdb"),
    /**
     * LMDB with a copy into a reused buffer that is then verified: the binaries outlive the
     * transaction.
     */
    LMDB_COPIED("lmdb-copied"),
    /** The layout of oneDNN's RFC for a persistent cache. */
    RFC("rfc");

    private final String label;

    StoreCandidate(String label) {
        this.label = label;
    }

    /** Returns the name on the command line and in the output. */
    public String label() {
        return label;
    }

    public static Optional<StoreCandidate> ofLabel(String label) {
        return Arrays.stream(values())
                .filter(candidate -> candidate.label.equals(label.toLowerCase(Locale.ROOT)))
                .findFirst();
    }

    /**
     * Returns the candidate whose store this one reads: itself, or the one that the store is filled
     * for.
     */
    public StoreCandidate owner() {
        return switch (this) {
            case RAW_VERIFIED, RAW_KEPT -> RAW;
            case TIER_KEPT -> TIER;
            case LMDB_COPIED -> LMDB;
            case RAW, TIER, LMDB, RFC -> this;
        };
    }

    /** Returns true if the garbage collector frees the memory of entries that were read. */
    public boolean keepsMemory() {
        return this == RAW_KEPT || this == TIER_KEPT;
    }

    /** Returns true if the store evicts by itself. */
    boolean evicts() {
        return owner() == TIER;
    }

    /**
     * Opens the store in its own directory under {@code parent}.
     *
     * @param capacity the capacity in bytes of entries, for stores that evict
     */
    public CandidateStore open(Path parent, long capacity) throws IOException {
        Path directory = Files.createDirectories(directory(parent));
        return switch (owner()) {
            case RAW, RAW_VERIFIED, RAW_KEPT -> new RawFiles(directory);
            case TIER, TIER_KEPT -> new LocalTierStore(directory, capacity);
            case LMDB, LMDB_COPIED -> new LmdbStore(directory);
            case RFC -> new OneDnnRfcStore(directory);
        };
    }

    /** Returns the directory of the store under {@code parent}. */
    public Path directory(Path parent) {
        return parent.resolve(owner().label);
    }
}
