package dev.granary.benchmarks.bucket;

import java.io.IOException;

/** Numbered objects read by a transport, so many at once, again and again for some time. */
final class ThroughputTurn {
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

    /** The key of an object. */
    static String key(String prefix, int number) {
        return prefix + "/" + (10_000 + number);
    }

    /** Reads for that long; what has begun is brought to its end. */
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

    /** How long each object took, in microseconds; after the end only. */
    Sample micros() {
        return micros;
    }
}
