package dev.granary.cache.contract;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.cache.format.WriteAttemptId;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A store in memory, for tests of what uses stores: keeps entries in the entry format, so that a test can damage them. Thread-safe. */
public final class InMemoryCache implements PersistentCache {
    /** What becomes of an entry whose id is there with other content. */
    public enum OtherContent {
        /** The first stays, the second is divergent: as a bucket does. */
        KEEP_FIRST,
        /** The second replaces the first: as a directory does. */
        REPLACE
    }

    private final OtherContent otherContent;
    private final ConcurrentHashMap<Sha256, byte[]> stored;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** An empty store. */
    public InMemoryCache(OtherContent otherContent) {
        this(otherContent, new ConcurrentHashMap<>());
    }

    private InMemoryCache(OtherContent otherContent, ConcurrentHashMap<Sha256, byte[]> stored) {
        this.otherContent = otherContent;
        this.stored = stored;
    }

    /** The same store, opened once more. */
    public InMemoryCache reopened() {
        return new InMemoryCache(otherContent, stored);
    }

    /** How many entries are there, sound or not. */
    public int size() {
        return stored.size();
    }

    /** The bytes under the name of {@code id}, a copy, or null. */
    public byte @Nullable [] bytes(Id id) {
        byte[] bytes = stored.get(id.hash());
        return bytes == null ? null : bytes.clone();
    }

    /** Puts any bytes under the name of {@code id}, past all checks. */
    public void plant(Id id, byte[] bytes) {
        stored.put(id.hash(), bytes.clone());
    }

    @Override
    public LoadResult load(Id id) {
        requireOpen();
        byte[] bytes = stored.get(id.hash());
        return bytes == null ? LoadResult.ABSENT : EntryFormat.decode(MemorySegment.ofArray(bytes), id, VerificationLevel.CONTENT_HASH);
    }

    @Override
    public StoreResult store(Entry entry) {
        requireOpen();
        byte[] bytes = EntryFormat.encode(entry, Compression.NONE, WriteAttemptId.NONE);
        StoreResult[] result = {new StoreResult.Stored(bytes.length)};
        stored.compute(entry.id().hash(), (_, present) -> {
            Sha256 there = present == null ? null : contentOf(entry.id(), present);
            if (there == null) {
                return bytes;
            }
            if (there.equals(entry.contentHash())) {
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
                entry.id().hash(), (_, present) -> Objects.equals(entry.contentHash(), contentOf(entry.id(), present)) ? null : present);
    }

    @Override
    public void close() {
        closed.set(true);
    }

    /** The content hash of a sound entry of {@code id}; null for anything else, which the next store replaces. */
    private static @Nullable Sha256 contentOf(Id id, byte[] bytes) {
        LoadResult read = EntryFormat.decode(MemorySegment.ofArray(bytes), id, VerificationLevel.CONTENT_HASH);
        return read instanceof LoadResult.Hit hit ? hit.entry().contentHash() : null;
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("This store is closed");
        }
    }
}
