package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.SegmentStore;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Function;

/**
 * Location of the bytes of a stored entry.
 *
 * @param file the segment
 * @param offset the offset in it
 * @param length the length of the entry in bytes
 */
record EntryBytesOnDisk(Path file, long offset, int length) {
    static EntryBytesOnDisk of(Path directory, Id id) throws IOException {
        return of(directory, Id::hash, id);
    }

    static EntryBytesOnDisk of(Path directory, Function<Id, Sha256> naming, Id id)
            throws IOException {
        SegmentStore store =
                SegmentStore.share(directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
        try (Arena memory = Arena.ofConfined()) {
            OpenStoreFiles files = Objects.requireNonNull(store.files());
            long location = new EntryReader(naming).find(files, id, memory).location();
            SegmentFile segment = files.segments().get(EntryLocation.segment(location));
            return new EntryBytesOnDisk(segment.file(), EntryLocation.offset(location), (int)
                    segment.statedLength(EntryLocation.offset(location)));
        } finally {
            store.release();
        }
    }

    byte[] read() throws IOException {
        try (RandomAccessFile in = new RandomAccessFile(file.toFile(), "r")) {
            byte[] bytes = new byte[length];
            in.seek(offset);
            in.readFully(bytes);
            return bytes;
        }
    }

    /** Writes at the offset of the entry, and beyond its end if there are more bytes. */
    void write(byte[] bytes) throws IOException {
        try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
            out.seek(offset);
            out.write(bytes);
        }
    }

    /** Truncates the file so that this many bytes of the entry remain. */
    void cut(int left) throws IOException {
        try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
            assertEquals(true, out.length() > offset + left);
            out.setLength(offset + left);
        }
    }
}
