package dev.granary.local.file;

import dev.granary.local.store.StoreRecovery;

import org.jspecify.annotations.Nullable;

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

/**
 * State page of a directory, mapped by all its processes: the generation of the index, the append
 * position, the counts and the recovery journal. Locks on its file are the commit lock and the
 * sweep lock.
 *
 * <p>All its content can be recovered from the other files ({@link StoreRecovery}).
 * {@link #APPEND_POSITION} is exchanged without a lock; all other words change under the commit
 * lock.
 */
public final class StatePage implements AutoCloseable {
    /** Length of the file in bytes. */
    public static final int BYTES = 4096;

    /** Value of {@link #MARK} in an initialised page of this version. */
    public static final long MAGIC = 0x4752_4e53_5441_5432L;

    // Words that readers use are on other cache lines than those that writers change.
    public static final int MARK = 0;
    public static final int GENERATION = 8;
    // incremented before a replaced entry is removed; a lookup without a hit compares it
    public static final int REPLACEMENTS = 16;
    public static final int APPEND_POSITION = 128;
    public static final int NEXT_SEGMENT = 256;
    public static final int LIVE_UNITS = 264;
    public static final int LIVE_ENTRIES = 272;
    public static final int OCCUPIED_SLOTS = 280;
    public static final int SEALED_UNITS = 288;
    public static final int CHANGE_IN_PROGRESS = 296;
    public static final int BOOT = 304;
    public static final int INDEX_SLOTS = 312;

    // Recovery journal, by which the next process completes a replacement: location and tag of the
    // new entry, locations of the replaced ones.
    public static final int COMMIT_LOCATION = 320;
    public static final int COMMIT_TAG = 328;
    public static final int CHANGES = 336;
    public static final int COMMIT_REPLACES = 384;
    public static final int MAX_REPLACED = 8;

    /** Upper limit of a count of units; as bytes it fits a {@code long}. */
    public static final long MAX_UNITS = 1L << 50;

    private static final VarHandle WORDS =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
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
     * Opens the page for reading and writing, and creates it if it is missing.
     *
     * @throws java.nio.file.FileSystemException if something other than a file has its name
     */
    public static StatePage openForWriting(Path file) throws IOException {
        StoreLayout.requireFileOrNothing(file);
        return InterruptGuard.inFileThread(() -> create(file));
    }

    private static StatePage create(Path file) throws IOException {
        FileChannel channel = StoreLayout.openOrCreate(file);
        try {
            fill(channel);
            return new StatePage(
                    channel,
                    channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES),
                    identity(attributes(file)),
                    true);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /**
     * Extends the file to its length with allocated blocks, so that no hole fails on a full disk
     * later. Writes only the last byte of each block, where no word is stored: another process may
     * have initialised the page in the meantime.
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
     * Returns whether {@code file} is still the file of this page; extends it again if it was
     * truncated. It is checked by name and written in another thread. An interrupt here would close
     * the channel and release the locks that other threads of this process hold.
     */
    public boolean restore(Path file) throws IOException {
        BasicFileAttributes attributes;
        try {
            attributes = attributes(file);
        } catch (NoSuchFileException e) {
            return false; // removed: the next change creates another
        }
        if (!identity(attributes).equals(key)) {
            return false;
        }
        if (writable && attributes.size() < BYTES) {
            InterruptGuard.inFileThread(() -> fill(channel));
        }
        return true;
    }

    /** Opens an existing page for reading only; returns null if the file is too short. */
    public static @Nullable StatePage openForReading(Path file) throws IOException {
        StoreLayout.requireFileOrNothing(file);
        return InterruptGuard.inFileThread(() -> Optional.ofNullable(read(file)))
                .orElse(null);
    }

    private static @Nullable StatePage read(Path file) throws IOException {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            return channel.size() < BYTES
                    ? null
                    : new StatePage(
                            channel,
                            channel.map(FileChannel.MapMode.READ_ONLY, 0, BYTES),
                            identity(attributes(file)),
                            false);
        }
    }

    private static BasicFileAttributes attributes(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private static Object identity(BasicFileAttributes attributes) {
        return Objects.requireNonNullElse(attributes.fileKey(), attributes.creationTime());
    }

    /** Returns whether {@code file} is still the file of this page. */
    public boolean isBackedBy(Path file) throws IOException {
        try {
            return identity(attributes(file)).equals(key);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    public boolean isWritable() {
        return writable;
    }

    /**
     * Returns whether the channel was closed, so that the page is mapped but its locks are
     * unavailable.
     */
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

    public boolean compareAndSet(int word, long expected, long value) {
        return WORDS.compareAndSet((ByteBuffer) page, word, expected, value);
    }

    /** Returns the append position as a location, or 0 if it is unknown. */
    public long appendPosition() {
        return EntryLocation.withoutCheck(get(APPEND_POSITION));
    }

    /**
     * Returns the units on disk: those of sealed segments and the written part of the last segment.
     */
    public long diskUnits() {
        return count(SEALED_UNITS) + EntryLocation.unit(appendPosition());
    }

    /** Returns a count of units; a damaged one is clamped to the possible range. */
    public long count(int word) {
        return Math.clamp(get(word), 0, MAX_UNITS);
    }

    /** Tries to acquire the commit lock; returns null if another process holds it. */
    public @Nullable FileLock tryCommitLock() throws IOException {
        return tryLock(COMMIT_REGION);
    }

    /** Acquires the commit lock, waiting without a limit. */
    public FileLock commitLock() throws IOException {
        return channel.lock(COMMIT_REGION, 1, false);
    }

    /**
     * Tries to acquire the lock of the evicting process; returns null if another process holds it.
     */
    public @Nullable FileLock trySweepLock() throws IOException {
        return tryLock(SWEEP_REGION);
    }

    private @Nullable FileLock tryLock(int position) throws IOException {
        try {
            return channel.tryLock(position, 1, false);
        } catch (OverlappingFileLockException e) {
            return null; // another copy of this class in this process holds it
        }
    }

    /** Releases the locks; the page stays mapped while it is referenced. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            return; // nothing was buffered
        }
    }
}
