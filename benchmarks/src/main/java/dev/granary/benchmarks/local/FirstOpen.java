package dev.granary.benchmarks.local;

import dev.granary.benchmarks.local.store.CandidateStore;
import dev.granary.benchmarks.local.store.NativeLibraries;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.workload.LocalWorkload;
import dev.granary.cache.Id;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A new process that opens one candidate, reads one entry, and prints the milliseconds without the
 * start of the JVM.
 */
final class FirstOpen {
    private FirstOpen() {}

    /** Arguments: directory of native libraries, parent directory, candidate, capacity. */
    public static void main(String[] arguments) throws IOException {
        Path parent = Path.of(arguments[1]);
        StoreCandidate candidate = StoreCandidate.valueOf(arguments[2]);
        long capacity = Long.parseLong(arguments[3]);
        Id id = LocalWorkload.id(0);
        long start = System.nanoTime();
        NativeLibraries.unpackInto(Path.of(arguments[0]));
        try (CandidateStore store = candidate.open(parent, capacity);
                CandidateStore.Reader reader = store.reader(candidate)) {
            long found = reader.get(id);
            double millis = (System.nanoTime() - start) / 1e6;
            if (found == CandidateStore.Reader.ABSENT) {
                throw new IOException("no hit");
            }
            System.out.println(millis);
        }
    }
}
