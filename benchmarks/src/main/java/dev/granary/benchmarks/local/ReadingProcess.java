package dev.granary.benchmarks.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.local.store.CandidateStore;
import dev.granary.benchmarks.local.store.NativeLibraries;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.workload.LocalWorkload;
import dev.granary.cache.Id;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * A new process that opens one candidate and reads all entries in its own order. Each line of its
 * input contains the milliseconds of a turn, and it answers with gets per second. It ends with its
 * input.
 */
final class ReadingProcess {
    private static final int WARM_PASSES = 2;

    private ReadingProcess() {}

    /**
     * Arguments: directory of native libraries, parent directory, candidate, capacity, number of
     * entries, seed of the order.
     */
    public static void main(String[] arguments) throws IOException {
        NativeLibraries.unpackInto(Path.of(arguments[0]));
        StoreCandidate candidate = StoreCandidate.valueOf(arguments[2]);
        List<Id> ids = new ArrayList<>(IntStream.range(0, Integer.parseInt(arguments[4]))
                .mapToObj(LocalWorkload::id)
                .toList());
        Collections.shuffle(ids, new Random(Long.parseLong(arguments[5])));
        try (CandidateStore store =
                        candidate.open(Path.of(arguments[1]), Long.parseLong(arguments[3]));
                CandidateStore.Reader reader = store.reader(candidate);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            int next = 0;
            for (int i = 0; i < WARM_PASSES * ids.size(); i++) {
                next = get(reader, ids, next);
            }
            System.out.println("ready");
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                long start = System.nanoTime();
                long end = start + Long.parseLong(line) * 1_000_000;
                long gets = 0;
                long now = start;
                while (now < end) {
                    next = get(reader, ids, next);
                    gets++;
                    now = System.nanoTime();
                }
                System.out.println(gets * 1e9 / (now - start));
            }
        }
    }

    private static int get(CandidateStore.Reader reader, List<Id> ids, int next)
            throws IOException {
        if (reader.get(ids.get(next)) == CandidateStore.Reader.ABSENT) {
            throw new IOException("no hit: " + ids.get(next));
        }
        return (next + 1) % ids.size();
    }
}
