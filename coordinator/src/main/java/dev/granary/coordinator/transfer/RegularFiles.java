package dev.granary.coordinator.transfer;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Set;

/** Reads and writes the regular files of a tree; follows no link. */
public final class RegularFiles {
    private static final Set<OpenOption> READ = Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
    private static final Set<OpenOption> NEW = Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, LinkOption.NOFOLLOW_LINKS);
    private static final long CHUNK = 1 << 20; // the channel keeps a buffer as large as the largest single transfer

    private RegularFiles() {}

    /** The attributes of the file itself, not of what a link points to. */
    static BasicFileAttributes attributes(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    static boolean isRegular(Path file) {
        return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS);
    }

    static boolean isDirectory(Path file) {
        return Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * The whole file, which has {@code bytes} bytes; that many are allocated.
     *
     * @throws IOException if it cannot be read, or has another length by now
     */
    public static MemorySegment read(Path file, long bytes, Arena memory) throws IOException {
        try (FileChannel channel = FileChannel.open(file, READ)) {
            MemorySegment into = memory.allocate(bytes);
            long at = 0;
            while (at < bytes) {
                int read = channel.read(into.asSlice(at, Math.min(CHUNK, bytes - at)).asByteBuffer());
                if (read < 0) {
                    break;
                }
                at += read;
            }
            if (at < bytes || channel.size() != bytes) {
                throw new IOException(file + " changes while it is read");
            }
            return into;
        } catch (OutOfMemoryError e) {
            throw new IOException("no memory for the " + bytes + " bytes of " + file, e);
        }
    }

    /** Writes a new file. */
    static void write(Path file, MemorySegment bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, NEW)) {
            for (long at = 0; at < bytes.byteSize(); at += CHUNK) {
                ByteBuffer part = bytes.asSlice(at, Math.min(CHUNK, bytes.byteSize() - at)).asByteBuffer();
                while (part.hasRemaining()) {
                    channel.write(part);
                }
            }
        }
    }

    /** True where the file is a regular one with exactly these bytes. */
    static boolean has(Path file, MemorySegment bytes) throws IOException {
        if (!isRegular(file) || Files.size(file) != bytes.byteSize()) {
            return false;
        }
        try (Arena memory = Arena.ofConfined()) {
            return read(file, bytes.byteSize(), memory).mismatch(bytes) < 0;
        }
    }
}
