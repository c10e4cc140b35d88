package dev.granary.it.bench.local;

import dev.granary.cache.Entry;
import java.nio.file.Path;

/** Runs in a new process: opens one candidate, gets one entry, and says how many milliseconds that took. */
final class FirstOpen {
    private FirstOpen() {}

    /** Arguments: directory, kind. */
    public static void main(String[] arguments) throws Exception {
        Entry entry = Material.entries(1).getFirst();
        entry.id().hash();
        long start = System.nanoTime();
        try (Candidate candidate = Candidate.Kind.valueOf(arguments[1]).open(Path.of(arguments[0]))) {
            candidate.get(entry);
            System.out.println((System.nanoTime() - start) / 1e6);
        }
    }
}
