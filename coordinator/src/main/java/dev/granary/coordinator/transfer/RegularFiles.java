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

/** Access to the regular files of a tree; follows no links. */
public final class RegularFiles {
    private static final Set<OpenOption> READ =
            Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
    private static final Set<OpenOption> NEW = Set.of(
            StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, LinkOption.NOFOLLOW_LINKS);
    // the channel caches a buffer as large as the largest single transfer
    private static final long CHUNK_BYTES = 1 << 20;

    private RegularFiles() {}

    /** Returns the attributes of the file itself, not of the target of a link. */
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
     * Reads a file of {@code bytes} bytes, for which memory of that size is allocated.
     *
     * @throws IOException if the file cannot be read, or its length has changed
     */
    public static MemorySegment read(Path file, long bytes, Arena memory) throws IOException {
        try (FileChannel channel = FileChannel.open(file, READ)) {
            MemorySegment content = memory.allocate(bytes);
            long position = 0;
            while (position < bytes) {
                int read = channel.read(
                        content.asSlice(position, Math.min(CHUNK_BYTES, bytes - position))
                                .asByteBuffer());
                if (read < 0) {
                    break;
                }
                position += read;
            }
            if (position < bytes || channel.size() != bytes) {
                throw new IOException(file + " changed while it was read");
            }
            return content;
        } catch (OutOfMemoryError e) {
            throw new IOException("no memory for the " + bytes + " bytes of " + file, e);
        }
    }

    /** Writes a new file. */
    static void write(Path file, MemorySegment bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, NEW)) {
            for (long position = 0; position < bytes.byteSize(); position += CHUNK_BYTES) {
                ByteBuffer chunk = bytes.asSlice(
                                position, Math.min(CHUNK_BYTES, bytes.byteSize() - position))
                        .asByteBuffer();
                while (chunk.hasRemaining()) {
                    channel.write(chunk);
                }
            }
        }
    }

    /** Returns true if the file is a regular one with exactly these bytes. */
    static boolean has(Path file, MemorySegment bytes) throws IOException {
        if (!isRegular(file) || Files.size(file) != bytes.byteSize()) {
            return false;
        }
        try (Arena memory = Arena.ofConfined()) {
            return read(file, bytes.byteSize(), memory).mismatch(bytes) < 0;
        }
    }
}
