package dev.granary.cache.fuzz;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A fuzzer of parsers that read a file. */
public final class FileFuzzer {
    private FileFuzzer() {}

    /**
     * Returns the number of runs of a campaign, or else a {@code part}th of the default, since
     * files are slow.
     */
    public static int runs(int part) {
        Long configured = Long.getLong("granary.fuzz.runs");
        return Math.toIntExact(configured == null ? Fuzzer.DEFAULT_RUNS / part : configured);
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
