package dev.granary.local.file;

import dev.granary.cache.format.EntryFormat;
import dev.granary.local.directory.DirectoryValidator;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/**
 * File of consecutive entries, mapped for reading. It is written by plain writes, so that a full
 * disk is an error and not a signal.
 *
 * <p>Its first {@link EntryLocation#UNIT} bytes contain its number and phase. If they are damaged,
 * its entries stay readable, and it takes no new ones. Its length is fixed while it is the last
 * segment; then it is truncated to the part in use.
 */
public final class SegmentFile {
    /** Phase in the life of a segment. */
    public enum Phase {
        /** Entries may be committed to it. */
        OPEN(1),
        /**
         * No entry may be committed any more. Bytes that no entry of the index covers may be
         * reclaimed.
         */
        CLOSED(2),
        /** Removed; processes that have it mapped discard the mapping. */
        GONE(3);

        private final long number;

        Phase(long number) {
            this.number = number;
        }
    }

    private static final long MAGIC = 0x4752_4e53_4547_3132L;
    private static final int NUMBER = 8;
    private static final int PHASE = 16;
    private static final int PUNCHED = 24;
    private static final int WRITE_CHUNK_BYTES = 128 << 10;
    private static final int ATTEMPTS = 5;

    private final int number;
    private final Path file;
    private final MappedByteBuffer map;
    private final MemorySegment bytes;
    private @Nullable FileChannel writing; // guarded by this
    private boolean isClosed; // guarded by this

    /** Thrown if the file is shorter than it was when it was mapped. */
    public static final class TruncatedException extends IOException {
        private static final long serialVersionUID = 1;

        private TruncatedException(Path file, Throwable cause) {
            super(file + " was truncated while it was read", cause);
        }
    }

    private SegmentFile(int number, Path file, MappedByteBuffer map) {
        this.number = number;
        this.file = file;
        this.map = map;
        this.bytes = MemorySegment.ofBuffer(map);
    }

    /** Creates a segment of a fixed length, without allocating its blocks. */
    static SegmentFile create(Path file, int number, long length) throws IOException {
        return InterruptGuard.inFileThread(() -> doCreate(file, number, length));
    }

    private static SegmentFile doCreate(Path file, int number, long length) throws IOException {
        FileChannel channel = FileChannel.open(
                file,
                Set.of(
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE,
                        StandardOpenOption.CREATE_NEW,
                        LinkOption.NOFOLLOW_LINKS),
                DirectoryValidator.privateFile(file));
        boolean done = false;
        try {
            ByteBuffer header = ByteBuffer.allocate(EntryLocation.UNIT);
            header.putLong(MAGIC).putLong(number).putLong(Phase.OPEN.number).rewind();
            channel.write(header, 0);
            try (RandomAccessFile same = new RandomAccessFile(file.toFile(), "rw")) {
                same.setLength(length);
            }
            SegmentFile segment = new SegmentFile(
                    number, file, channel.map(FileChannel.MapMode.READ_ONLY, 0, length));
            segment.writing = channel;
            done = true;
            return segment;
        } finally {
            if (!done) {
                channel.close();
                // created by this call and not yet referenced: frees the blocks on a full disk
                Files.deleteIfExists(file);
            }
        }
    }

    /** Opens a segment for reading. */
    static SegmentFile open(Path file, int number) throws IOException {
        StoreLayout.requireFile(file);
        return InterruptGuard.inFileThread(() -> doOpen(file, number));
    }

    private static SegmentFile doOpen(Path file, int number) throws IOException {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            for (int attempt = 1; ; attempt++) {
                long length = Math.min(channel.size(), Integer.MAX_VALUE);
                try {
                    return new SegmentFile(
                            number, file, channel.map(FileChannel.MapMode.READ_ONLY, 0, length));
                } catch (IOException e) {
                    // otherwise a sweep has just truncated it
                    if (attempt == ATTEMPTS || channel.size() >= length) {
                        throw e;
                    }
                }
            }
        }
    }

    public int number() {
        return number;
    }

    public Path file() {
        return file;
    }

    /** Returns the mapped length in bytes, the limit of all entries. */
    public long length() {
        return bytes.byteSize();
    }

    public Phase phase() {
        if (bytes.byteSize() < EntryLocation.UNIT
                || map.getLong(0) != MAGIC
                || map.getLong(NUMBER) != number) {
            return Phase.CLOSED;
        }
        long phase = map.getLong(PHASE);
        return phase == Phase.OPEN.number
                ? Phase.OPEN
                : phase == Phase.GONE.number ? Phase.GONE : Phase.CLOSED;
    }

    public void setPhase(Phase phase) throws IOException {
        writeWord(PHASE, phase.number);
    }

    /**
     * Returns the number of live units at the last punching plus 1, or 0 if it was never punched.
     */
    public long punched() {
        return bytes.byteSize() < EntryLocation.UNIT ? 0 : map.getLong(PUNCHED);
    }

    public void setPunched(long mark) throws IOException {
        writeWord(PUNCHED, mark);
    }

    /**
     * Returns the length in bytes that the entry at {@code offset} states, unverified, or -1 if no
     * entry starts there.
     */
    public long statedLength(long offset) {
        try {
            long length =
                    offset >= bytes.byteSize() ? -1 : EntryFormat.statedLength(map, (int) offset);
            MappingFault.throwPending();
            return length;
        } catch (InternalError e) {
            return -1; // truncated under the mapping
        }
    }

    /**
     * Copies bytes out of the segment, as many as there are. Callers must verify the copy, not the
     * mapping, since the mapping may change. Other bulk accesses to a truncated mapping, such as a
     * checksum of it, would end the process.
     *
     * @param memory the arena of the copy, or null for memory that the garbage collector frees
     * @throws TruncatedException if the file was truncated under the mapping
     * @throws IOException if the disk fails, or there is no memory
     */
    public MemorySegment copy(long offset, long length, @Nullable Arena memory) throws IOException {
        long available = Math.clamp(bytes.byteSize() - offset, 0, length);
        try {
            Arena arena = memory == null ? Arena.ofAuto() : memory;
            MemorySegment copy = arena.allocateFrom(
                    ValueLayout.JAVA_BYTE,
                    bytes,
                    ValueLayout.JAVA_BYTE,
                    available == 0 ? 0 : offset,
                    available);
            MappingFault.throwPending();
            return copy;
        } catch (InternalError e) {
            throw isShorterThan(offset + available)
                    ? new TruncatedException(file, e)
                    : new IOException(file + " could not be read", e);
        } catch (OutOfMemoryError e) {
            throw new IOException("no off-heap memory for " + available + " bytes of " + file, e);
        }
    }

    /**
     * Returns whether the file is shorter than {@code length}. The system reports a truncated file
     * and a failing disk in the same way.
     */
    private boolean isShorterThan(long length) throws IOException {
        try {
            return Files.size(file) < length;
        } catch (NoSuchFileException e) {
            return true;
        }
    }

    /**
     * Returns a view of the mapping for a write by the system, which reports truncation as an
     * error.
     */
    public MemorySegment view(long offset, long length) {
        return bytes.asSlice(offset, length);
    }

    public void write(long offset, MemorySegment part) throws IOException {
        write(offset, part.asByteBuffer());
    }

    /**
     * Truncates the file to {@code length} bytes. Longer mappings are harmless, since no entry lies
     * beyond that length.
     */
    public void truncate(long length) throws IOException {
        onChannel(channel -> channel.truncate(length));
    }

    synchronized void close() {
        isClosed = true;
        try {
            if (writing != null) {
                writing.close();
            }
        } catch (IOException e) {
            return; // nothing was buffered
        } finally {
            writing = null;
        }
    }

    private void writeWord(int at, long value) throws IOException {
        write(at, ByteBuffer.allocate(Long.BYTES).putLong(value).flip());
    }

    private void write(long offset, ByteBuffer from) throws IOException {
        onChannel(channel -> {
            ByteBuffer rest = from.duplicate();
            while (rest.position() < from.limit()) {
                // heap bytes are copied once more: small chunks stay in the CPU cache
                rest.limit(Math.min(from.limit(), rest.position() + WRITE_CHUNK_BYTES));
                channel.write(rest, offset + rest.position() - from.position());
            }
        });
    }

    /** An operation on the channel of the file. */
    private interface ChannelAction {
        void on(FileChannel channel) throws IOException;
    }

    /**
     * Runs {@code action} on the shared channel. An interrupt of one thread closes that channel for
     * all. Each then repeats its action, which is idempotent, on a channel of a thread that is
     * never interrupted.
     */
    private void onChannel(ChannelAction action) throws IOException {
        try (InterruptGuard _ = new InterruptGuard()) {
            action.on(writable());
        } catch (ClosedChannelException e) {
            SegmentFile _ = InterruptGuard.inFileThread(() -> onOwnChannel(action));
        }
    }

    private SegmentFile onOwnChannel(ChannelAction action) throws IOException {
        try (FileChannel own = openToWrite()) {
            action.on(own);
        }
        return this;
    }

    /**
     * Returns the channel for writing. A closed segment opens none, since no caller would close it.
     */
    private synchronized FileChannel writable() throws IOException {
        FileChannel current = writing;
        if (isClosed) {
            throw new ClosedChannelException();
        }
        if (current == null || !current.isOpen()) {
            current = openToWrite();
            writing = current;
        }
        return current;
    }

    private FileChannel openToWrite() throws IOException {
        StoreLayout.requireFile(file);
        return FileChannel.open(file, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
    }
}
