package dev.granary.local;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The page that all processes on a directory map: which index is the one, where the next entry goes, how much there is. Its file also carries
 * the locks.
 *
 * <p>Everything in it can be found again from the other files ({@link Recovery}). {@link #TAIL} is exchanged without a lock; all other words
 * change under the commit lock.
 */
final class State implements AutoCloseable {
    /** Length of the file. */
    static final int BYTES = 4096;

    /** What tells that the page was set up, and by which version. */
    static final long MAGIC = 0x4752_4e53_5441_5432L;

    // Words that readers look at lie apart from those that writers change.
    static final int MARK = 0;
    static final int GENERATION = 8;
    static final int REPLACEMENTS = 16; // grows before an entry leaves for one that came; a look-up that found nothing reads it again
    static final int TAIL = 128;
    static final int NEXT_SEGMENT = 256;
    static final int LIVE_UNITS = 264;
    static final int LIVE_ENTRIES = 272;
    static final int OCCUPIED_SLOTS = 280;
    static final int SEALED_UNITS = 288;
    static final int CHANGING = 296;
    static final int BOOT = 304;
    static final int INDEX_SLOTS = 312;

    // What is being entered in the place of what, so that the next process can finish it: location and mark of the new, locations of the old.
    static final int ENTERING = 320;
    static final int ENTERING_TAG = 328;
    static final int CHANGES = 336;
    static final int REPLACED = 384;
    static final int REPLACED_AT_MOST = 8;

    /** All units that segments can have; as bytes, still a number. */
    static final long MOST_UNITS = 1L << 50;

    private static final VarHandle WORDS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int COMMIT_REGION = BYTES;
    private static final int SWEEP_REGION = BYTES + 1;
    private static final int SMALLEST_BLOCK = 512;

    private final FileChannel channel;
    private final MappedByteBuffer page;
    private final Object key;
    private final boolean writable;

    private State(FileChannel channel, MappedByteBuffer page, Object key, boolean writable) {
        this.channel = channel;
        this.page = page;
        this.key = key;
        this.writable = writable;
    }

    /**
     * Opens the page for reading and writing, and creates it.
     *
     * @throws java.nio.file.FileSystemException if something else than a file has its place
     */
    static State openForWriting(Path file) throws IOException {
        Layout.requireNothingElse(file);
        return InterruptShield.apart(() -> create(file));
    }

    private static State create(Path file) throws IOException {
        FileChannel channel = FileChannel.open(file,
                Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE, LinkOption.NOFOLLOW_LINKS),
                DirectoryCheck.privateFile(file));
        try {
            fill(channel);
            return new State(channel, channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES), identity(attributes(file)), true);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /**
     * Makes the file as long as it should be, in blocks of its own: no hole that a full disk refuses to fill later. Writes only the last byte
     * of each block, where no word lies: another process may have set the page up since its length was looked at.
     */
    private static FileChannel fill(FileChannel channel) throws IOException {
        for (long last = SMALLEST_BLOCK - 1; channel.size() < BYTES; last += SMALLEST_BLOCK) {
            if (channel.size() <= last) {
                channel.write(ByteBuffer.allocate(1), last);
            }
        }
        return channel;
    }

    /**
     * True if {@code file} is still the file behind this page; one that somebody cut is made whole again. Looks at it by name, once, and writes in
     * another thread: an interrupt here would close the channel, and let go of the locks that other threads of this process have by it.
     */
    boolean restore(Path file) throws IOException {
        BasicFileAttributes attributes;
        try {
            attributes = attributes(file);
        } catch (NoSuchFileException e) {
            return false; // removed: the next change makes another
        }
        if (!identity(attributes).equals(key)) {
            return false;
        }
        if (writable && attributes.size() < BYTES) {
            InterruptShield.apart(() -> fill(channel));
        }
        return true;
    }

    /** Opens a page that exists for reading only; null where it is too short to be one. */
    static @Nullable State openForReading(Path file) throws IOException {
        Layout.requireNothingElse(file);
        return InterruptShield.apart(() -> Optional.ofNullable(read(file))).orElse(null);
    }

    private static @Nullable State read(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            return channel.size() < BYTES
                    ? null
                    : new State(channel, channel.map(FileChannel.MapMode.READ_ONLY, 0, BYTES), identity(attributes(file)), false);
        }
    }

    private static BasicFileAttributes attributes(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private static Object identity(BasicFileAttributes attributes) {
        return Objects.requireNonNullElse(attributes.fileKey(), attributes.creationTime());
    }

    /** True where {@code file} is still the file behind this page. */
    boolean isStill(Path file) throws IOException {
        try {
            return identity(attributes(file)).equals(key);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    boolean isWritable() {
        return writable;
    }

    /** True where the page is still mapped, but its locks can no longer be had: something closed the channel. */
    boolean isLost() {
        return writable && !channel.isOpen();
    }

    long get(int word) {
        return (long) WORDS.getAcquire((ByteBuffer) page, word);
    }

    void set(int word, long value) {
        WORDS.setRelease((ByteBuffer) page, word, value);
    }

    void add(int word, long value) {
        set(word, get(word) + value);
    }

    boolean exchange(int word, long expected, long value) {
        return WORDS.compareAndSet((ByteBuffer) page, word, expected, value);
    }

    /** Where the next entry goes, as a location; 0 where nothing says. */
    long tail() {
        return Tail.withoutCheck(get(TAIL));
    }

    /** Units on disk: of what is sealed, and of what is written of the segment at the end. */
    long diskUnits() {
        return count(SEALED_UNITS) + Tail.unit(tail());
    }

    /** A count of units; one that rotted is still none below 0 or beyond what there can be. */
    long count(int word) {
        return Math.clamp(get(word), 0, MOST_UNITS);
    }

    /** The lock under which everything changes; null where another process has it. */
    @Nullable FileLock tryCommitLock() throws IOException {
        return tryLock(COMMIT_REGION);
    }

    /** The same, waited for without a bound. */
    FileLock commitLock() throws IOException {
        return channel.lock(COMMIT_REGION, 1, false);
    }

    /** The lock of the one process that evicts; null where another has it. */
    @Nullable FileLock trySweepLock() throws IOException {
        return tryLock(SWEEP_REGION);
    }

    private @Nullable FileLock tryLock(int position) throws IOException {
        try {
            return channel.tryLock(position, 1, false);
        } catch (OverlappingFileLockException e) {
            return null; // another copy of this class in this process has it
        }
    }

    /** Lets go of the locks; the page stays mapped until nobody uses it. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            return; // nothing was buffered
        }
    }
}
