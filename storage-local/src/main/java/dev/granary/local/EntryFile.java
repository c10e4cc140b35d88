package dev.granary.local;

import dev.granary.cache.Damage;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

/**
 * Reads entry files as a whole into memory outside the heap, from where they go to the driver. Not mapped: a mapped file that somebody cuts
 * under the reader ends the process.
 */
final class EntryFile {
    private static final Set<OpenOption> READ = Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);

    private EntryFile() {}

    /** What tells one file from another that later took its name. */
    record Identity(Object key, long bytes, long stampMillis) {
        static Identity of(Path file) throws IOException {
            return of(Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS));
        }

        private static Identity of(BasicFileAttributes attributes) {
            Object key = Objects.requireNonNullElse(attributes.fileKey(), attributes.creationTime());
            return new Identity(key, attributes.size(), attributes.lastModifiedTime().toMillis());
        }
    }

    /**
     * Reads the file and has {@code decoder} verify it. An interrupted thread reads all the same and stays interrupted.
     *
     * @return what the decoder says, or {@link LoadResult.Absent} where there is no such file
     * @throws IOException if the file is there and cannot be read
     */
    static LoadResult read(Path file, Function<MemorySegment, LoadResult> decoder) throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return readOnce(file, decoder);
                } catch (ClosedByInterruptException e) {
                    interrupted |= Thread.interrupted(); // an interrupt closes channels; without this a look-up would fail for it
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static LoadResult readOnce(Path file, Function<MemorySegment, LoadResult> decoder) throws IOException {
        try (FileChannel channel = FileChannel.open(file, READ)) {
            long size = channel.size();
            if (size > EntryFormat.MAX_BYTES) {
                return new LoadResult.Damaged(Damage.TOO_LARGE, size + " bytes are more than an entry can have");
            }
            MemorySegment memory = Arena.ofAuto().allocate(size);
            ByteBuffer into = memory.asByteBuffer();
            while (into.hasRemaining() && channel.read(into, into.position()) >= 0) {
                // a file cut meanwhile ends early; the decoder says so
            }
            return decoder.apply(memory.asSlice(0, into.position()));
        } catch (NoSuchFileException e) {
            return LoadResult.ABSENT;
        } catch (OutOfMemoryError e) {
            throw new IOException("no memory outside the heap for " + file, e);
        }
    }
}
