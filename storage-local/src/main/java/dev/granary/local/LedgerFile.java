package dev.granary.local;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The file behind a {@link Ledger}: opened when needed, again after somebody removed it, for reading only where the disk allows no more. */
final class LedgerFile {
    private final Path file;
    private @Nullable FileChannel channel;
    private @Nullable Object key;
    private boolean writable;

    LedgerFile(Path file) {
        this.file = file;
    }

    /** True unless the last attempt to open the file for writing failed for good: missing directory, read-only disk. */
    synchronized boolean canLock() {
        return writable;
    }

    /** The lock of the region that starts at {@code position}, or null where another process has it or there is nothing to lock. */
    @Nullable FileLock tryLock(long position) throws IOException {
        FileChannel open = open();
        if (open == null || !canLock()) {
            return null;
        }
        try {
            return open.tryLock(position, LedgerState.BYTES, false);
        } catch (OverlappingFileLockException e) {
            return null; // another copy of this class in this process has it
        }
    }

    Optional<LedgerState> read() throws IOException {
        FileChannel open = open();
        if (open == null) {
            return Optional.empty();
        }
        ByteBuffer bytes = ByteBuffer.allocate(LedgerState.BYTES);
        while (bytes.hasRemaining() && open.read(bytes, bytes.position()) >= 0) {
            // until all is there, or the file ends
        }
        return LedgerState.decode(bytes.flip());
    }

    void write(LedgerState state) throws IOException {
        FileChannel open = channel;
        if (open == null) {
            throw new ClosedChannelException();
        }
        ByteBuffer bytes = state.encode();
        while (bytes.hasRemaining()) {
            open.write(bytes, bytes.position());
        }
    }

    synchronized void close() {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            return; // nothing was buffered
        } finally {
            channel = null;
        }
    }

    private synchronized @Nullable FileChannel open() throws IOException {
        if (channel != null && channel.isOpen() && Objects.equals(key, currentKey())) {
            return channel;
        }
        close();
        writable = false;
        try {
            channel = open(Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE, LinkOption.NOFOLLOW_LINKS));
            writable = true;
        } catch (NoSuchFileException e) {
            return null; // no entry was ever stored here
        } catch (AccessDeniedException e) {
            channel = openForReading();
        } catch (FileSystemException e) {
            if (!Files.getFileStore(Objects.requireNonNull(file.getParent())).isReadOnly()) {
                throw e;
            }
            channel = openForReading();
        }
        key = currentKey();
        return channel;
    }

    private @Nullable FileChannel openForReading() throws IOException {
        try {
            return open(Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private FileChannel open(Set<? extends OpenOption> options) throws IOException {
        return FileChannel.open(file, options, DirectoryCheck.privateFile(file));
    }

    private @Nullable Object currentKey() throws IOException {
        try {
            return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS).fileKey();
        } catch (NoSuchFileException e) {
            return null;
        }
    }
}
