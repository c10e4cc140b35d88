package dev.granary.examples;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A cache with one file for each entry. A call waits for the file system only. Thread-safe. */
public final class DirectoryCache implements PersistentCache {
    private final Path directory;
    private volatile boolean isClosed;

    public DirectoryCache(Path directory) {
        this.directory = directory;
    }

    @Override
    public LoadResult load(Id id) {
        requireOpen();
        try {
            byte[] stored = Files.readAllBytes(file(id));
            // compares the key, the checksums and the content hash: a hit must be verified
            return EntryFormat.decode(
                    MemorySegment.ofArray(stored), id, VerificationLevel.CONTENT_HASH);
        } catch (NoSuchFileException e) {
            return LoadResult.ABSENT;
        } catch (IOException e) { // a result, since no state of the store may throw
            return new LoadResult.Unavailable(e.toString());
        }
    }

    @Override
    public StoreResult store(Entry entry) {
        if (hasSameContent(entry)) {
            return StoreResult.DUPLICATE;
        }
        try {
            byte[] bytes = EntryFormat.encode(entry, Compression.ZSTD);
            Files.createDirectories(directory);
            Path temporary = Files.createTempFile(directory, "new-", ".part");
            try {
                Files.write(temporary, bytes);
                // readers see the old entry or the new one, never a part
                Files.move(temporary, file(entry.id()), StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(temporary);
            }
            return new StoreResult.Stored(bytes.length);
        } catch (IllegalArgumentException e) { // too large for an entry
            return new StoreResult.Refused(StoreResult.Scope.ENTRY, String.valueOf(e.getMessage()));
        } catch (IOException e) {
            return new StoreResult.Failed(e.toString());
        }
    }

    @Override
    public void discard(Entry entry) {
        if (hasSameContent(entry)) { // a newer entry of the id stays
            try {
                Files.deleteIfExists(file(entry.id()));
            } catch (IOException e) {
                // the entry stays, and is rejected and discarded again
            }
        }
    }

    @Override
    public void close() {
        isClosed = true;
    }

    private boolean hasSameContent(Entry entry) {
        return load(entry.id()) instanceof LoadResult.Hit(Entry present)
                && present.contentHash().equals(entry.contentHash());
    }

    /** Returns the file of an id. The name has the digest only, since an id may have megabytes. */
    private Path file(Id id) {
        return directory.resolve(id.hash().hex());
    }

    private void requireOpen() {
        if (isClosed) { // a programming error, which throws
            throw new IllegalStateException("The cache is closed");
        }
    }
}
