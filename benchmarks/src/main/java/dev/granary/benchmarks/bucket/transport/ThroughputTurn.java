package dev.granary.benchmarks.bucket.transport;

import dev.granary.benchmarks.bucket.workload.ParallelWorkers;
import dev.granary.benchmarks.bucket.workload.Sample;

import java.io.IOException;

/** Repeated reads of numbered objects by a transport, with some concurrency, for some time. */
public final class ThroughputTurn {
    private final ObjectReader reader;
    private final String prefix;
    private final int objects;
    private final Sample micros = new Sample(); // guarded by itself
    private double seconds;

    ThroughputTurn(ObjectReader reader, String prefix, int objects) {
        this.reader = reader;
        this.prefix = prefix;
        this.objects = objects;
    }

    /** Returns the key of an object. */
    public static String key(String prefix, int number) {
        return prefix + "/" + (10_000 + number);
    }

    /** Reads for that time, and completes all reads that have begun. */
    void play(int atOnce, long nanos) throws IOException, InterruptedException {
        long start = System.nanoTime();
        ParallelWorkers.run(atOnce, atOnce, member -> {
            Sample mine = new Sample();
            for (int i = 0; System.nanoTime() - start < nanos || i == 0; i++) {
                long before = System.nanoTime();
                reader.read(key(prefix, (member + i * atOnce) % objects));
                mine.add((System.nanoTime() - before) / 1e3);
            }
            synchronized (micros) {
                for (int i = 0; i < mine.count(); i++) {
                    micros.add(mine.get(i));
                }
            }
        });
        seconds = (System.nanoTime() - start) / 1e9;
    }

    double perSecond() {
        return micros.count() / seconds;
    }

    /** Returns the duration of each read in microseconds; valid after the end only. */
    Sample micros() {
        return micros;
    }
}
