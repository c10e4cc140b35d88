package dev.granary.cache.contract;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An in-memory {@link PersistentCache} for tests. It stores entries in the entry format, so that a
 * test can damage them. Thread-safe.
 */
public final class InMemoryCache implements PersistentCache {
    /** The treatment of an entry whose id is present with different content. */
    public enum OtherContent {
        /** The first entry stays and the second is divergent, as in a bucket. */
        KEEP_FIRST,
        /** The second entry replaces the first, as in a directory. */
        REPLACE
    }

    private final OtherContent otherContent;
    private final ConcurrentHashMap<Sha256, byte[]> stored;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Creates an empty store. */
    public InMemoryCache(OtherContent otherContent) {
        this(otherContent, new ConcurrentHashMap<>());
    }

    private InMemoryCache(OtherContent otherContent, ConcurrentHashMap<Sha256, byte[]> stored) {
        this.otherContent = otherContent;
        this.stored = stored;
    }

    /** Opens the same store again. */
    public InMemoryCache reopened() {
        return new InMemoryCache(otherContent, stored);
    }

    /** Returns the number of entries, sound or damaged. */
    public int size() {
        return stored.size();
    }

    /** Returns a copy of the bytes stored for {@code id}, or null. */
    public byte @Nullable [] bytes(Id id) {
        byte[] bytes = stored.get(id.hash());
        return bytes == null ? null : bytes.clone();
    }

    /** Stores any bytes for {@code id} without checks. */
    public void plant(Id id, byte[] bytes) {
        stored.put(id.hash(), bytes.clone());
    }

    @Override
    public LoadResult load(Id id) {
        requireOpen();
        byte[] bytes = stored.get(id.hash());
        return bytes == null
                ? LoadResult.ABSENT
                : EntryFormat.decode(
                        MemorySegment.ofArray(bytes), id, VerificationLevel.CONTENT_HASH);
    }

    @Override
    public StoreResult store(Entry entry) {
        requireOpen();
        byte[] bytes = EntryFormat.encode(entry, Compression.NONE);
        StoreResult[] result = {new StoreResult.Stored(bytes.length)};
        stored.compute(entry.id().hash(), (_, present) -> {
            Sha256 presentHash = present == null ? null : contentOf(entry.id(), present);
            if (presentHash == null) {
                return bytes;
            }
            if (presentHash.equals(entry.contentHash())) {
                result[0] = StoreResult.DUPLICATE;
                return present;
            }
            return switch (otherContent) {
                case REPLACE -> bytes;
                case KEEP_FIRST -> {
                    result[0] = StoreResult.DIVERGENT;
                    yield present;
                }
            };
        });
        return result[0];
    }

    @Override
    public void discard(Entry entry) {
        requireOpen();
        stored.computeIfPresent(
                entry.id().hash(),
                (_, present) -> Objects.equals(entry.contentHash(), contentOf(entry.id(), present))
                        ? null
                        : present);
    }

    @Override
    public void close() {
        closed.set(true);
    }

    /**
     * Returns the content hash of a sound entry of {@code id}, or null for anything else, which the
     * next store replaces.
     */
    private static @Nullable Sha256 contentOf(Id id, byte[] bytes) {
        LoadResult read = EntryFormat.decode(
                MemorySegment.ofArray(bytes), id, VerificationLevel.CONTENT_HASH);
        return read instanceof LoadResult.Hit hit ? hit.entry().contentHash() : null;
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("This store is closed");
        }
    }
}
