package dev.granary.benchmarks.local.store;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Id;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/**
 * The layout of oneDNN's RFC for a persistent cache: {@code <hash>/<n>/key.bin} and
 * {@code kernel.bin}, and {@code size.txt} with the bytes in use, under a readers-writer lock of
 * threads and processes. The hash has 64 bits; {@code <n>} counts the keys that share it. The frame
 * is {@code kernel.bin}.
 */
final class OneDnnRfcStore implements CandidateStore {
    private final Path directory;
    private final Path size;
    private final OneDnnRfcLock lock;

    OneDnnRfcStore(Path directory) throws IOException {
        this.directory = directory;
        this.size = directory.resolve("size.txt");
        this.lock = new OneDnnRfcLock(directory.resolve("lock"));
    }

    @Override
    public void put(WorkloadItem item) throws IOException {
        lock.write(() -> {
            byte[] key = item.id().bytes();
            Path sameHash = sameHash(item.id());
            int number = 0;
            while (Files.exists(sameHash.resolve(Integer.toString(number)))) {
                if (Arrays.equals(
                        Files.readAllBytes(place(sameHash, number).resolve("key.bin")), key)) {
                    break;
                }
                number++;
            }
            Path place = Files.createDirectories(place(sameHash, number));
            Files.write(place.resolve("key.bin"), key);
            Files.write(place.resolve("kernel.bin"), item.frame());
            addToSize(key.length + item.frame().length);
        });
    }

    @Override
    public void remove(Id id) throws IOException {
        lock.write(() -> {
            byte[] key = id.bytes();
            Path sameHash = sameHash(id);
            for (int number = 0; Files.exists(place(sameHash, number)); number++) {
                Path place = place(sameHash, number);
                if (Arrays.equals(Files.readAllBytes(place.resolve("key.bin")), key)) {
                    long bytes = key.length + Files.size(place.resolve("kernel.bin"));
                    Files.delete(place.resolve("kernel.bin"));
                    Files.delete(place.resolve("key.bin"));
                    Files.delete(place);
                    if (number == 0) {
                        Files.delete(sameHash); // no two of the benchmark's keys share a hash
                    }
                    addToSize(-bytes);
                    return;
                }
            }
        });
    }

    @Override
    public Reader reader(StoreCandidate how) {
        ByteBuffer buffer = EntryFrames.buffer();
        MemorySegment memory = MemorySegment.ofBuffer(buffer);
        return id -> lock.read(() -> get(id, buffer, memory));
    }

    @Override
    public StoreCandidate owner() {
        return StoreCandidate.RFC;
    }

    @Override
    public void close() throws IOException {
        lock.close();
    }

    private long get(Id id, ByteBuffer buffer, MemorySegment memory) throws IOException {
        Path sameHash = sameHash(id);
        for (int number = 0; ; number++) {
            Path place = place(sameHash, number);
            try {
                fill(buffer, place.resolve("key.bin"));
            } catch (NoSuchFileException e) {
                return Reader.ABSENT;
            }
            if (id.matches(buffer.flip())) {
                fill(buffer, place.resolve("kernel.bin"));
                return EntryFrames.verified(memory.asSlice(0, buffer.position()), id);
            }
        }
    }

    private static void fill(ByteBuffer buffer, Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            buffer.clear();
            while (channel.read(buffer) > 0) {
                // to the end
            }
        }
    }

    private void addToSize(long bytes) throws IOException {
        long used = Files.exists(size)
                ? Long.parseLong(Files.readString(size, US_ASCII).strip())
                : 0;
        Files.writeString(size, Long.toString(used + bytes), US_ASCII);
    }

    /** Returns the directory of the keys that share the hash of this one. */
    private Path sameHash(Id id) {
        return directory.resolve(
                Long.toUnsignedString(ByteBuffer.wrap(id.hash().bytes()).getLong()));
    }

    private static Path place(Path sameHash, int number) {
        return sameHash.resolve(Integer.toString(number));
    }
}
