package dev.granary.cache.fuzz;

import dev.granary.testing.TestRuns;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A fuzzer of parsers that read a file. */
public final class FileFuzzer {
    private FileFuzzer() {}

    /** Returns a {@code part}th of the number of inputs in memory, since files are slow. */
    public static int runs(int part) {
        return TestRuns.count(Fuzzer.DEFAULT_RUNS / part);
    }

    /**
     * Runs {@code target}, whose parser reads {@code file}, on inputs written to it. The file stays
     * open, because opening costs as much as parsing.
     */
    public static void run(Path file, FuzzTarget target, long runs) throws IOException {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Fuzzer.run(
                    new FuzzTarget(
                            target.name(),
                            target.seeds(),
                            target.dictionary(),
                            target.repair(),
                            target.documented(),
                            target.bytesPerByte(),
                            bytes -> {
                                ByteBuffer all = ByteBuffer.wrap(bytes);
                                while (all.hasRemaining()) {
                                    channel.write(all, all.position());
                                }
                                channel.truncate(bytes.length);
                                target.parser().parse(bytes);
                            }),
                    runs);
        }
    }
}
