package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.store.EntryFrames;
import dev.granary.benchmarks.local.workload.Rounds;
import dev.granary.benchmarks.local.workload.Stopwatch;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;

/**
 * Measure of a lower bound for stores that return a verified copy. As many bytes as the entries
 * have are copied from mapped files in the page cache into a warm buffer, and checksummed there. No
 * lookup, no comparison of keys and no allocation is included.
 */
final class MemoryLimit implements AutoCloseable {
    private static final long FILE_BYTES = 1L << 28;
    private static final int FILLED_AT_ONCE = 1 << 20;

    private final Arena arena = Arena.ofShared();
    private final List<MemorySegment> places = new ArrayList<>();
    private final MemorySegment buffer = MemorySegment.ofBuffer(EntryFrames.buffer());
    private final List<Double> copied = new ArrayList<>();
    private final List<Double> copiedToRaw = new ArrayList<>();

    /** Writes the files into {@code directory}. */
    MemoryLimit(Path directory, int[] sizes, long seed) throws IOException {
        MemorySegment file = MemorySegment.NULL;
        long used = 0;
        for (int size : sizes) {
            if (used + size > file.byteSize()) {
                file = newMappedFile(directory.resolve("memory-" + places.size()), seed);
                used = 0;
            }
            places.add(file.asSlice(used, size));
            used += size;
        }
    }

    /** Writes a file of random bytes and maps it. */
    private MemorySegment newMappedFile(Path path, long seed) throws IOException {
        byte[] noise = new byte[FILLED_AT_ONCE];
        new SplittableRandom(seed).nextBytes(noise);
        try (FileChannel channel = FileChannel.open(
                path,
                StandardOpenOption.CREATE_NEW,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            for (long at = 0; at < FILE_BYTES; at += FILLED_AT_ONCE) {
                channel.write(ByteBuffer.wrap(noise), at);
            }
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, FILE_BYTES, arena);
        }
    }

    /**
     * Runs a round in an order that follows from {@code salt}; {@code rawMicros} is the time of raw
     * in that round, NaN if it does not count.
     */
    void round(long salt, double rawMicros) {
        List<Integer> order =
                new ArrayList<>(IntStream.range(0, places.size()).boxed().toList());
        Collections.shuffle(order, new Random(salt));
        double micros = microsEach(order);
        if (!Double.isNaN(rawMicros)) {
            copied.add(micros);
            copiedToRaw.add(micros / rawMicros);
        }
    }

    private double microsEach(List<Integer> order) {
        Stopwatch stopwatch = new Stopwatch();
        long sum = 0;
        for (int index : order) {
            MemorySegment place = places.get(index);
            sum += checksum(buffer.asSlice(0, place.byteSize()).copyFrom(place));
        }
        double micros = stopwatch.each(order.size()).wall();
        if (sum == 1) {
            throw new IllegalStateException("so that the checksums are not optimised away");
        }
        return micros;
    }

    private static long checksum(MemorySegment bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.asByteBuffer());
        return crc.getValue();
    }

    /** Adds the row of the bound. */
    void row(ReportSection section) {
        section.row("(copied)", Rounds.median(copied), Rounds.median(copiedToRaw));
    }

    @Override
    public void close() {
        arena.close();
    }
}
