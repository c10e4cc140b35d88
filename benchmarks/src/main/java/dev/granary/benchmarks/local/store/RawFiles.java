package dev.granary.benchmarks.local.store;

import dev.granary.cache.Id;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;

/**
 * One file per entry, written under a temporary name and renamed, read into one reused buffer or
 * into new memory.
 */
final class RawFiles implements CandidateStore {
    private final Path directory;
    private final Path aside;
    private final Set<String> shards = new HashSet<>();

    RawFiles(Path directory) {
        this.directory = directory;
        this.aside = directory.resolve("aside");
    }

    @Override
    public void put(WorkloadItem item) throws IOException {
        String hex = item.id().hash().hex();
        if (shards.add(hex.substring(0, 2))) {
            Files.createDirectories(directory.resolve(hex.substring(0, 2)));
        }
        Files.write(aside, item.frame());
        Files.move(aside, file(item.id()), StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void remove(Id id) throws IOException {
        Files.delete(file(id));
    }

    @Override
    public Reader reader(StoreCandidate how) {
        if (how == StoreCandidate.RAW_KEPT) {
            return this::readIntoNewMemory;
        }
        ByteBuffer buffer = EntryFrames.buffer();
        MemorySegment memory = MemorySegment.ofBuffer(buffer);
        return how == StoreCandidate.RAW_VERIFIED
                ? id -> verified(id, buffer, memory)
                : id -> read(id, buffer);
    }

    @Override
    public StoreCandidate owner() {
        return StoreCandidate.RAW;
    }

    @Override
    public void close() {}

    private long verified(Id id, ByteBuffer buffer, MemorySegment memory) throws IOException {
        long length = read(id, buffer);
        return length == Reader.ABSENT
                ? length
                : EntryFrames.verified(memory.asSlice(0, length), id);
    }

    private long read(Id id, ByteBuffer buffer) throws IOException {
        try (FileChannel channel = FileChannel.open(file(id), StandardOpenOption.READ)) {
            buffer.clear();
            return readAll(channel, buffer);
        } catch (NoSuchFileException e) {
            return Reader.ABSENT;
        }
    }

    private long readIntoNewMemory(Id id) throws IOException {
        try (FileChannel channel = FileChannel.open(file(id), StandardOpenOption.READ)) {
            return readAll(channel, Arena.ofAuto().allocate(channel.size()).asByteBuffer());
        } catch (NoSuchFileException e) {
            return Reader.ABSENT;
        }
    }

    private static long readAll(FileChannel channel, ByteBuffer buffer) throws IOException {
        while (channel.read(buffer) > 0) {
            // to the end
        }
        return buffer.position();
    }

    private Path file(Id id) {
        String hex = id.hash().hex();
        return directory.resolve(hex.substring(0, 2)).resolve(hex);
    }
}
