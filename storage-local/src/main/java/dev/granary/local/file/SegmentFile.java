package dev.granary.local.file;

import dev.granary.cache.format.EntryFormat;
import dev.granary.local.directory.DirectoryValidator;
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
import org.jspecify.annotations.Nullable;

/**
 * A file of entries one behind the other, mapped for reading. Written by plain writes, so that a full disk is an error and not a signal.
 *
 * <p>Its first {@link EntryLocation#UNIT} bytes say which segment it is and in which phase; should they rot, its entries are read all the same, and
 * it takes no new ones. Its length is fixed while it is at the end of the store, then cut to what is used.
 */
public final class SegmentFile {
    /** What may be done to a segment. */
    public enum Phase {
        /** Entries may be committed. */
        OPEN(1),
        /** No entry may be committed any more: what no entry of the index covers may be given back to the disk. */
        CLOSED(2),
        /** Removed; who has it mapped lets it go. */
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
    private static final int WRITTEN_AT_ONCE = 128 << 10;
    private static final int ATTEMPTS = 5;

    private final int number;
    private final Path file;
    private final MappedByteBuffer map;
    private final MemorySegment bytes;
    private @Nullable FileChannel writing; // guarded by this
    private boolean isClosed; // guarded by this

    /** The file is shorter than it was when it was mapped. */
    public static final class CutException extends IOException {
        private static final long serialVersionUID = 1;

        private CutException(Path file, Throwable cause) {
            super(file + " was cut while it was read", cause);
        }
    }

    private SegmentFile(int number, Path file, MappedByteBuffer map) {
        this.number = number;
        this.file = file;
        this.map = map;
        this.bytes = MemorySegment.ofBuffer(map);
    }

    /** Creates a segment of a fixed length that takes no room on the disk yet. */
    static SegmentFile create(Path file, int number, long length) throws IOException {
        return InterruptGuard.apart(() -> createHere(file, number, length));
    }

    private static SegmentFile createHere(Path file, int number, long length) throws IOException {
        FileChannel channel = FileChannel.open(file,
                Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, LinkOption.NOFOLLOW_LINKS),
                DirectoryValidator.privateFile(file));
        boolean done = false;
        try {
            ByteBuffer header = ByteBuffer.allocate(EntryLocation.UNIT);
            header.putLong(MAGIC).putLong(number).putLong(Phase.OPEN.number).rewind();
            channel.write(header, 0);
            try (RandomAccessFile same = new RandomAccessFile(file.toFile(), "rw")) {
                same.setLength(length);
            }
            SegmentFile segment = new SegmentFile(number, file, channel.map(FileChannel.MapMode.READ_ONLY, 0, length));
            segment.writing = channel;
            done = true;
            return segment;
        } finally {
            if (!done) {
                channel.close();
                Files.deleteIfExists(file); // made here, and named by nothing: a full disk must not keep it
            }
        }
    }

    /** Opens a segment for reading. */
    static SegmentFile open(Path file, int number) throws IOException {
        StoreLayout.requireFile(file);
        return InterruptGuard.apart(() -> openHere(file, number));
    }

    private static SegmentFile openHere(Path file, int number) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            for (int attempt = 1; ; attempt++) {
                long length = Math.min(channel.size(), Integer.MAX_VALUE);
                try {
                    return new SegmentFile(number, file, channel.map(FileChannel.MapMode.READ_ONLY, 0, length));
                } catch (IOException e) {
                    if (attempt == ATTEMPTS || channel.size() >= length) { // else a sweep cut it just now
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

    /** The length as it was mapped: what entries at the most can reach. */
    public long length() {
        return bytes.byteSize();
    }

    public Phase phase() {
        if (bytes.byteSize() < EntryLocation.UNIT || map.getLong(0) != MAGIC || map.getLong(NUMBER) != number) {
            return Phase.CLOSED;
        }
        long phase = map.getLong(PHASE);
        return phase == Phase.OPEN.number ? Phase.OPEN : phase == Phase.GONE.number ? Phase.GONE : Phase.CLOSED;
    }

    public void setPhase(Phase phase) throws IOException {
        writeWord(PHASE, phase.number);
    }

    /** How many units of live entries there were when the rest was last given back to the disk, and one; 0 where it never was. */
    public long punched() {
        return bytes.byteSize() < EntryLocation.UNIT ? 0 : map.getLong(PUNCHED);
    }

    public void setPunched(long mark) throws IOException {
        writeWord(PUNCHED, mark);
    }

    /** How many bytes the entry that starts at {@code offset} has by its own words, unverified; -1 where none starts there. */
    public long statedLength(long offset) {
        try {
            return offset >= bytes.byteSize() ? -1 : EntryFormat.statedLength(map, (int) offset);
        } catch (InternalError e) {
            return -1; // cut under the mapping
        }
    }

    /**
     * Copies bytes out; as many as there are. What is handed on must be verified behind the copy, not in the mapping: that may change, and one
     * that is cut ends the process when it is read by anything else than this copy.
     *
     * @param memory where to; null for memory that the garbage collector gives back
     * @throws CutException if the file was cut under the mapping
     * @throws IOException if the disk fails, or there is no memory
     */
    public MemorySegment copy(long offset, long length, @Nullable Arena memory) throws IOException {
        long there = Math.clamp(bytes.byteSize() - offset, 0, length);
        try {
            Arena taken = memory == null ? Arena.ofAuto() : memory;
            return taken.allocateFrom(ValueLayout.JAVA_BYTE, bytes, ValueLayout.JAVA_BYTE, there == 0 ? 0 : offset, there);
        } catch (InternalError e) {
            throw isShorterThan(offset + there) ? new CutException(file, e) : new IOException(file + " could not be read", e);
        } catch (OutOfMemoryError e) {
            throw new IOException("no memory outside the heap for " + there + " bytes of " + file, e);
        }
    }

    /** The system tells of a cut and of a failing disk in one way. */
    private boolean isShorterThan(long length) throws IOException {
        try {
            return Files.size(file) < length;
        } catch (NoSuchFileException e) {
            return true;
        }
    }

    /** A view of bytes in the mapping, to be written elsewhere by the system, which reports a cut as an error. */
    public MemorySegment view(long offset, long length) {
        return bytes.asSlice(offset, length);
    }

    public void write(long offset, MemorySegment part) throws IOException {
        write(offset, part.asByteBuffer());
    }

    /** Cuts the file to what is used. Who has it mapped longer does not look behind that, since no entry lies there. */
    public void cut(long length) throws IOException {
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
                rest.limit(Math.min(from.limit(), rest.position() + WRITTEN_AT_ONCE)); // what is on the heap is copied once more: in the cache
                channel.write(rest, offset + rest.position() - from.position());
            }
        });
    }

    private interface ChannelAction {
        void on(FileChannel channel) throws IOException;
    }

    /**
     * An interrupt of one thread closes a channel for all: each repeats what it did, which is to the same place, by a channel that only a
     * thread knows which nobody interrupts.
     */
    private void onChannel(ChannelAction action) throws IOException {
        try (InterruptGuard _ = new InterruptGuard()) {
            action.on(writable());
        } catch (ClosedChannelException e) {
            SegmentFile _ = InterruptGuard.apart(() -> onOwnChannel(action));
        }
    }

    private SegmentFile onOwnChannel(ChannelAction action) throws IOException {
        try (FileChannel own = openToWrite()) {
            action.on(own);
        }
        return this;
    }

    /** A segment that was let go opens none that nobody would close. */
    private synchronized FileChannel writable() throws IOException {
        FileChannel known = writing;
        if (isClosed) {
            throw new ClosedChannelException();
        }
        if (known == null || !known.isOpen()) {
            known = openToWrite();
            writing = known;
        }
        return known;
    }

    private FileChannel openToWrite() throws IOException {
        StoreLayout.requireFile(file);
        return FileChannel.open(file, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
    }
}
