package dev.granary.cache;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a store keeps: an id, its binaries, what compiling them cost, and metadata. Immutable, thread-safe.
 *
 * <p>Metadata that came out of a store is decoded only when somebody asks for it: no look-up pays for it.
 */
public final class Entry {
    private final Id id;
    private final KernelBinaries binaries;
    private final Duration compileTime;
    private final Supplier<Optional<EntryMetadata>> metadata;
    private @Nullable Sha256 contentHash; // computed at first use, or told by a reader that verified it

    private Entry(Id id, KernelBinaries binaries, Duration compileTime, Supplier<Optional<EntryMetadata>> metadata) {
        if (id.isEmpty()) {
            throw new IllegalArgumentException("The empty id has no entry: " + id.reason());
        }
        if (binaries.isEmpty()) {
            throw new IllegalArgumentException("An entry needs binaries; the primitive gave none");
        }
        this.id = id;
        this.binaries = binaries;
        this.compileTime = compileTime;
        this.metadata = metadata;
    }

    /**
     * An entry to be stored.
     *
     * @throws IllegalArgumentException if the id or the binaries are empty
     */
    public static Entry of(Id id, KernelBinaries binaries, Duration compileTime, EntryMetadata metadata) {
        Optional<EntryMetadata> known = Optional.of(metadata);
        return new Entry(id, binaries, compileTime, () -> known);
    }

    /**
     * An entry as read from a store: {@code metadata} is asked at most when somebody wants it, and {@code contentHash} is what the
     * stored frame says.
     */
    public static Entry ofStored(
            Id id, KernelBinaries binaries, Duration compileTime, Sha256 contentHash, Supplier<Optional<EntryMetadata>> metadata) {
        Entry entry = new Entry(id, binaries, compileTime, metadata);
        entry.contentHash = contentHash;
        return entry;
    }

    /** The id. */
    public Id id() {
        return id;
    }

    /** The binaries. */
    public KernelBinaries binaries() {
        return binaries;
    }

    /** What compiling cost the producer. */
    public Duration compileTime() {
        return compileTime;
    }

    /** The metadata; empty where it was written in a way that this version cannot read. */
    public Optional<EntryMetadata> metadata() {
        return metadata.get();
    }

    /**
     * Where the metadata comes from. A format that made the entry from stored bytes finds those here again, and passes them on as they are: those of
     * another version of Granary too, which it cannot read.
     */
    public Supplier<Optional<EntryMetadata>> metadataSource() {
        return metadata;
    }

    /** The SHA-256 of id and binaries, each framed by its length: equal hashes mean that two producers made the same. */
    public Sha256 contentHash() {
        Sha256 known = contentHash;
        if (known == null) {
            known = contentHash(id, binaries);
            contentHash = known;
        }
        return known;
    }

    /** The {@link #contentHash()} of an entry with these parts. */
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
