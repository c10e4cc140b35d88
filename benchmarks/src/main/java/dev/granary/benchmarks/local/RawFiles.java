package dev.granary.benchmarks.local;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Plain files, one for each entry, written under a temporary name and renamed. They lie in 256
 * directories, by the hash of the id.
 */
final class RawFiles implements CandidateStore {
    private static final int FRACTION = 16; // as the tier, sweep for each 1/16 that is stored

    private final Path directory;
    private final long capacity;
    private final Set<Path> created = ConcurrentHashMap.newKeySet();
    private final AtomicLong sinceSweep = new AtomicLong();

    RawFiles(Path directory, long capacity) throws IOException {
        this.directory = Files.createDirectories(directory);
        this.capacity = capacity;
    }

    private record Stored(Path file, long millis, long bytes) {}

    @Override
    public void put(LocalWorkload.Item item) throws IOException {
        Path file = file(item.id());
        if (created.add(file.getParent())) {
            Files.createDirectories(file.getParent());
        }
        Path written = file.resolveSibling(file.getFileName() + "."
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong()));
        try (FileChannel channel = FileChannel.open(
                written, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            ByteBuffer frame = item.frame().asByteBuffer();
            while (frame.hasRemaining()) {
                channel.write(frame);
            }
        }
        Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
        if (sinceSweep.addAndGet(CandidateStore.onDisk(item.frame().byteSize()))
                >= capacity / FRACTION) {
            sinceSweep.set(0);
            sweep(capacity);
        }
    }

    @Override
    public Reader reader(StoreCandidate how) {
        return new FileReader(how == StoreCandidate.RAW_VERIFIED);
    }

    /** Reader with a buffer that grows to the largest entry. */
    private final class FileReader implements Reader {
        private final boolean verifies;
        private ByteBuffer buffer = ByteBuffer.allocateDirect(BLOCK);

        FileReader(boolean verifies) {
            this.verifies = verifies;
        }

        @Override
        public void get(Id id) throws IOException {
            try (FileChannel channel = FileChannel.open(file(id), StandardOpenOption.READ)) {
                if (channel.size() > buffer.capacity()) {
                    buffer = ByteBuffer.allocateDirect((int) channel.size());
                }
                buffer.clear();
                while (channel.read(buffer) > 0) {}
            }
            if (verifies) {
                LoadResult result = EntryFormat.decode(
                        MemorySegment.ofBuffer(buffer.flip()), id, VerificationLevel.CHECKSUMS);
                if (!(result instanceof LoadResult.Hit)) {
                    throw new IOException(id + ": " + result);
                }
            }
        }
    }

    @Override
    public Listed list() throws IOException {
        List<Stored> stored = stored();
        return new Listed(stored.size(), bytes(stored));
    }

    private static long bytes(List<Stored> stored) {
        return stored.stream().mapToLong(Stored::bytes).sum();
    }

    @Override
    public void sweep(long limit) throws IOException {
        List<Stored> stored = stored();
        long used = bytes(stored);
        if (used <= limit) {
            return;
        }
        stored.sort(Comparator.comparingLong(Stored::millis));
        for (Stored oldest : stored) {
            if (used <= limit - limit / FRACTION) {
                break;
            }
            Files.delete(oldest.file());
            used -= oldest.bytes();
        }
    }

    private List<Stored> stored() throws IOException {
        List<Stored> stored = new ArrayList<>();
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                stored.add(new Stored(
                        file,
                        attributes.lastModifiedTime().toMillis(),
                        CandidateStore.onDisk(attributes.size())));
                return FileVisitResult.CONTINUE;
            }
        });
        return stored;
    }

    private Path file(Id id) {
        String hex = id.hash().hex();
        return directory.resolve(hex.substring(0, 2)).resolve(hex);
    }

    @Override
    public void close() {}
}
