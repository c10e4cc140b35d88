package dev.granary.cache;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A stored unit: an id with its binaries, their compile time, and metadata. Immutable and
 * thread-safe.
 *
 * <p>Metadata read from a store is decoded on first access, so lookups do not pay for it.
 */
public final class Entry {
    private final Id id;
    private final KernelBinaries binaries;
    private final Duration compileTime;
    private final Supplier<Optional<EntryMetadata>> metadata;
    private @Nullable Sha256 contentHash; // computed on first use, or set by a reader

    private Entry(
            Id id,
            KernelBinaries binaries,
            Duration compileTime,
            Supplier<Optional<EntryMetadata>> metadata) {
        if (id.isEmpty()) {
            throw new IllegalArgumentException("The empty id has no entry: " + id.reason());
        }
        if (binaries.isEmpty()) {
            throw new IllegalArgumentException("An entry needs binaries; the primitive has none");
        }
        this.id = id;
        this.binaries = binaries;
        this.compileTime = compileTime;
        this.metadata = metadata;
    }

    /**
     * Creates an entry to be stored.
     *
     * @throws IllegalArgumentException if the id or the binaries are empty
     */
    public static Entry of(
            Id id, KernelBinaries binaries, Duration compileTime, EntryMetadata metadata) {
        Optional<EntryMetadata> value = Optional.of(metadata);
        return new Entry(id, binaries, compileTime, () -> value);
    }

    /**
     * Creates an entry that was read from a store.
     *
     * @param contentHash the hash in the stored header
     * @param metadata the source of the metadata, called only on access
     */
    public static Entry ofStored(
            Id id,
            KernelBinaries binaries,
            Duration compileTime,
            Sha256 contentHash,
            Supplier<Optional<EntryMetadata>> metadata) {
        Entry entry = new Entry(id, binaries, compileTime, metadata);
        entry.contentHash = contentHash;
        return entry;
    }

    /** Returns the id. */
    public Id id() {
        return id;
    }

    /** Returns the binaries. */
    public KernelBinaries binaries() {
        return binaries;
    }

    /** Returns the producer's compile time. */
    public Duration compileTime() {
        return compileTime;
    }

    /** Returns the metadata, or empty if this version cannot read it. */
    public Optional<EntryMetadata> metadata() {
        return metadata.get();
    }

    /**
     * Returns the source of the metadata. A format that created the entry from stored bytes
     * recognizes its own source here and copies those bytes unchanged, with the signature beside
     * them. This includes metadata of another version of Granary, which it cannot read.
     */
    public Supplier<Optional<EntryMetadata>> metadataSource() {
        return metadata;
    }

    /**
     * Returns the SHA-256 of the id and the binaries, each preceded by its length. Equal hashes
     * mean that two producers compiled the same content.
     */
    public Sha256 contentHash() {
        Sha256 current = contentHash;
        if (current == null) {
            current = contentHash(id, binaries);
            contentHash = current;
        }
        return current;
    }

    /** Returns the {@link #contentHash()} of an entry with these parts. */
    public static Sha256 contentHash(Id id, KernelBinaries binaries) {
        List<MemorySegment> parts = new ArrayList<>();
        parts.add(MemorySegment.ofArray(id.bytes()));
        parts.addAll(binaries.given());
        return Sha256.framed(parts);
    }

    @Override
    public String toString() {
        return "entry " + id + ", " + binaries;
    }
}
