package dev.granary.it.bench.memory;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.granary.cache.memory.PrimitiveCache;
import java.util.Collection;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * A hit of the in-memory cache against the same look-up in a bare {@link ConcurrentHashMap} and in Caffeine.
 *
 * <p>Keys are like descriptors: 200 characters, compared by value, the hash computed once. The key that is asked for equals the one in the
 * cache and is another object.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 4, time = 1)
public class PrimitiveCacheBenchmark {
    private static final int KEYS = 512;
    private static final String BASELINE = "concurrentHashMap";

    private final ConcurrentHashMap<Key, Object> map = new ConcurrentHashMap<>();
    private final PrimitiveCache<Key, Object> cache = new PrimitiveCache<>(PrimitiveCache.DEFAULT_CAPACITY);
    private final Cache<Key, Object> caffeine = Caffeine.newBuilder().maximumSize(PrimitiveCache.DEFAULT_CAPACITY).build();

    /** A key with the equality of a descriptor. */
    record Key(String text, int hash) {
        static Key of(int number) {
            String text = String.format(Locale.ROOT, "%0200d", number);
            return new Key(text, text.hashCode());
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return this == other || (other instanceof Key that && hash == that.hash && text.equals(that.text));
        }
    }

    /** The keys that one thread asks for, in turn. */
    @State(Scope.Thread)
    public static class Asked {
        private final Key[] keys = new Key[KEYS];
        private int next;

        /** Fills the keys. */
        public Asked() {
            for (int i = 0; i < KEYS; i++) {
                keys[i] = Key.of(i);
            }
        }

        Key next() {
            next = (next + 1) & (KEYS - 1);
            return keys[next];
        }
    }

    /** Fills the three. */
    @Setup
    public void fill() {
        for (int i = 0; i < KEYS; i++) {
            Key key = Key.of(i);
            Object value = new Object();
            map.put(key, value);
            caffeine.put(key, value);
            cache.get(key, _ -> value);
        }
    }

    /** The floor: a map without bound, order or counters. */
    @Benchmark
    public Object concurrentHashMap(Asked asked) {
        return Objects.requireNonNull(map.get(asked.next()));
    }

    /** A hit of ours. */
    @Benchmark
    public Object primitiveCache(Asked asked) {
        return cache.get(asked.next(), _ -> new Object());
    }

    /** A hit of Caffeine. */
    @Benchmark
    public Object caffeine(Asked asked) {
        return caffeine.get(asked.next(), _ -> new Object());
    }

    /** Runs all with one and with two threads, and prints the times and their ratios to the bare map. */
    public static void main(String[] arguments) throws RunnerException {
        System.out.printf(Locale.ROOT, "%-8s %-20s %8s %8s%n", "threads", "hit of", "ns", "ratio");
        for (int threads = 1; threads <= 2; threads++) {
            Collection<RunResult> results = new Runner(new OptionsBuilder()
                    .include(PrimitiveCacheBenchmark.class.getName()).threads(threads).verbosity(VerboseMode.SILENT).build()).run();
            Map<String, Double> nanos = new HashMap<>();
            results.forEach(result -> nanos.put(result.getPrimaryResult().getLabel(), result.getPrimaryResult().getScore()));
            double floor = Objects.requireNonNull(nanos.get(BASELINE));
            for (String name : new String[] {BASELINE, "primitiveCache", "caffeine"}) {
                double time = Objects.requireNonNull(nanos.get(name));
                System.out.printf(Locale.ROOT, "%-8d %-20s %8.1f %8.2f%n", threads, name, time, time / floor);
            }
        }
    }
}
