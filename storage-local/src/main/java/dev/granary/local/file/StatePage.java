package dev.granary.local.file;

import dev.granary.local.directory.DirectoryValidator;
import dev.granary.local.store.StoreRecovery;
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
 * <p>Everything in it can be found again from the other files ({@link StoreRecovery}). {@link #TAIL} is exchanged without a lock; all other words
 * change under the commit lock.
 */
public final class StatePage implements AutoCloseable {
    /** Length of the file. */
    public static final int BYTES = 4096;

    /** What tells that the page was set up, and by which version. */
    public static final long MAGIC = 0x4752_4e53_5441_5432L;

    // Words that readers look at lie apart from those that writers change.
    public static final int MARK = 0;
    public static final int GENERATION = 8;
    public static final int REPLACEMENTS = 16; // grows before an entry leaves for one that came; a look-up that found nothing reads it again
    public static final int TAIL = 128;
    public static final int NEXT_SEGMENT = 256;
    public static final int LIVE_UNITS = 264;
    public static final int LIVE_ENTRIES = 272;
    public static final int OCCUPIED_SLOTS = 280;
    public static final int SEALED_UNITS = 288;
    public static final int CHANGING = 296;
    public static final int BOOT = 304;
    public static final int INDEX_SLOTS = 312;

    // What is being entered in the place of what, so that the next process can finish it: location and mark of the new, locations of the old.
    public static final int ENTERING = 320;
    public static final int ENTERING_TAG = 328;
    public static final int CHANGES = 336;
    public static final int REPLACED = 384;
    public static final int REPLACED_AT_MOST = 8;

    /** All units that segments can have; as bytes, still a number. */
    public static final long MOST_UNITS = 1L << 50;

    private static final VarHandle WORDS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int COMMIT_REGION = BYTES;
    private static final int SWEEP_REGION = BYTES + 1;
    private static final int SMALLEST_BLOCK = 512;

    private final FileChannel channel;
    private final MappedByteBuffer page;
    private final Object key;
    private final boolean writable;

    private StatePage(FileChannel channel, MappedByteBuffer page, Object key, boolean writable) {
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
    public static StatePage openForWriting(Path file) throws IOException {
        StoreLayout.requireNothingElse(file);
        return InterruptGuard.apart(() -> create(file));
    }

    private static StatePage create(Path file) throws IOException {
        FileChannel channel = FileChannel.open(file,
                Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE, LinkOption.NOFOLLOW_LINKS),
                DirectoryValidator.privateFile(file));
        try {
            fill(channel);
            return new StatePage(channel, channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES), identity(attributes(file)), true);
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
    public boolean restore(Path file) throws IOException {
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
            InterruptGuard.apart(() -> fill(channel));
        }
        return true;
    }

    /** Opens a page that exists for reading only; null where it is too short to be one. */
    public static @Nullable StatePage openForReading(Path file) throws IOException {
        StoreLayout.requireNothingElse(file);
        return InterruptGuard.apart(() -> Optional.ofNullable(read(file))).orElse(null);
    }

    private static @Nullable StatePage read(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            return channel.size() < BYTES
                    ? null
                    : new StatePage(channel, channel.map(FileChannel.MapMode.READ_ONLY, 0, BYTES), identity(attributes(file)), false);
        }
    }

    private static BasicFileAttributes attributes(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private static Object identity(BasicFileAttributes attributes) {
        return Objects.requireNonNullElse(attributes.fileKey(), attributes.creationTime());
    }

    /** True where {@code file} is still the file behind this page. */
    public boolean isStill(Path file) throws IOException {
        try {
            return identity(attributes(file)).equals(key);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    public boolean isWritable() {
        return writable;
    }

    /** True where the page is still mapped, but its locks can no longer be had: something closed the channel. */
    public boolean isLost() {
        return writable && !channel.isOpen();
    }

    public long get(int word) {
        return (long) WORDS.getAcquire((ByteBuffer) page, word);
    }

    public void set(int word, long value) {
        WORDS.setRelease((ByteBuffer) page, word, value);
    }

    public void add(int word, long value) {
        set(word, get(word) + value);
    }

    public boolean exchange(int word, long expected, long value) {
        return WORDS.compareAndSet((ByteBuffer) page, word, expected, value);
    }

    /** Where the next entry goes, as a location; 0 where nothing says. */
    public long tail() {
        return EntryLocation.withoutCheck(get(TAIL));
    }

    /** Units on disk: of what is sealed, and of what is written of the segment at the end. */
    public long diskUnits() {
        return count(SEALED_UNITS) + EntryLocation.unit(tail());
    }

    /** A count of units; one that rotted is still none below 0 or beyond what there can be. */
    public long count(int word) {
        return Math.clamp(get(word), 0, MOST_UNITS);
    }

    /** The lock under which everything changes; null where another process has it. */
    public @Nullable FileLock tryCommitLock() throws IOException {
        return tryLock(COMMIT_REGION);
    }

    /** The same, waited for without a bound. */
    public FileLock commitLock() throws IOException {
        return channel.lock(COMMIT_REGION, 1, false);
    }

    /** The lock of the one process that evicts; null where another has it. */
    public @Nullable FileLock trySweepLock() throws IOException {
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
