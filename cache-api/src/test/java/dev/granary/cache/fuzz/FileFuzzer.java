package dev.granary.cache.fuzz;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Fuzzing of parsers that read a file. */
public final class FileFuzzer {
    private FileFuzzer() {}

    /** The number of runs: that of a campaign, else one {@code part}th of the usual one, since files cost time. */
    public static int runs(int part) {
        Long chosen = Long.getLong("granary.fuzz.runs");
        return Math.toIntExact(chosen == null ? Fuzzer.USUAL_RUNS / part : chosen);
    }

    /** Runs {@code target}, whose parser reads {@code file}, on inputs written to it. The file stays open: opening costs as much as a parser. */
    public static void run(Path file, FuzzTarget target, long runs) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Fuzzer.run(new FuzzTarget(target.name(), target.seeds(), target.dictionary(), target.repair(), target.documented(), target.bytesPerByte(), bytes -> {
                ByteBuffer all = ByteBuffer.wrap(bytes);
                while (all.hasRemaining()) {
                    channel.write(all, all.position());
                }
                channel.truncate(bytes.length);
                target.parser().parse(bytes);
            }), runs);
        }
    }
}
