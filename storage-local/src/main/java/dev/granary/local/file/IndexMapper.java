package dev.granary.local.file;

import dev.granary.local.directory.DirectoryValidator;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/** Mapper of index files. Runs on a thread of files, since an interrupt would close the channel. */
final class IndexMapper {
    private static final int WRITE_CHUNK_BYTES = 1 << 18;

    private IndexMapper() {}

    /**
     * Creates and maps a file of zeros. Its blocks are allocated at once, so that a full disk fails
     * here and not when a slot is written.
     */
    static MappedByteBuffer create(Path file, long bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(
                file,
                Set.of(
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE,
                        StandardOpenOption.CREATE_NEW,
                        LinkOption.NOFOLLOW_LINKS),
                DirectoryValidator.privateFile(file))) {
            ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(bytes, WRITE_CHUNK_BYTES));
            for (long at = 0; at < bytes; ) {
                at += channel.write(zeros.clear(), at);
            }
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
        } catch (FileAlreadyExistsException e) {
            throw e;
        } catch (IOException e) {
            Files.deleteIfExists(file); // frees the blocks that a full disk had accepted
            throw e;
        }
    }

    /**
     * Maps the largest power of two of whole slots that a file has, at most {@code maxSlots};
     * returns null if it has none.
     */
    static @Nullable MappedByteBuffer open(
            Path file, FileChannel.MapMode mode, int slotBytes, int maxSlots) throws IOException {
        Set<OpenOption> options = mode == FileChannel.MapMode.READ_ONLY
                ? Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)
                : Set.of(
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE,
                        LinkOption.NOFOLLOW_LINKS);
        try (FileChannel channel = FileChannel.open(file, options)) {
            long slots = Math.min(channel.size() / slotBytes, maxSlots);
            return slots == 0 ? null : channel.map(mode, 0, Long.highestOneBit(slots) * slotBytes);
        }
    }
}
