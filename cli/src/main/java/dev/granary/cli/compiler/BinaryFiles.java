package dev.granary.cli.compiler;

import dev.granary.cache.KernelBinaries;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Files with the binaries of one message, in the directory of a compiler process. */
final class BinaryFiles {
    private static final int CHUNK = 1 << 20;

    private BinaryFiles() {}

    /** Writes each binary to a file of its own, and returns the names. */
    static List<String> write(Path directory, String prefix, KernelBinaries binaries)
            throws IOException {
        List<String> names = new ArrayList<>();
        for (MemorySegment segment : binaries.segments()) {
            String name = prefix + names.size();
            try (FileChannel channel = FileChannel.open(
                            directory.resolve(name),
                            StandardOpenOption.CREATE,
                            StandardOpenOption.TRUNCATE_EXISTING,
                            StandardOpenOption.WRITE);
                    OutputStream out = Channels.newOutputStream(channel)) {
                for (long start = 0; start < segment.byteSize(); start += CHUNK) {
                    long length = Math.min(CHUNK, segment.byteSize() - start);
                    out.write(segment.asSlice(start, length).toArray(ValueLayout.JAVA_BYTE));
                }
            }
            names.add(name);
        }
        return names;
    }

    /** Reads and deletes the files. */
    static KernelBinaries read(Path directory, List<String> names) throws IOException {
        List<MemorySegment> segments = new ArrayList<>();
        for (String name : names) {
            Path file = directory.resolve(name);
            segments.add(MemorySegment.ofArray(Files.readAllBytes(file)));
            Files.delete(file);
        }
        return KernelBinaries.ofSegments(segments);
    }
}
