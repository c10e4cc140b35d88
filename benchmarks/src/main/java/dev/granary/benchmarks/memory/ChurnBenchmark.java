package dev.granary.benchmarks.memory;

import com.github.benmanes.caffeine.cache.Caffeine;

import dev.granary.cache.memory.PrimitiveCache;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Benchmark of misses of a full cache: twice as many keys as the capacity are requested in turn, so
 * that each was evicted before its next turn.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class ChurnBenchmark {
    private static final Object VALUE = new Object();

    /** The keys. */
    @State(Scope.Benchmark)
    public static class Asked {
        /** The capacity in values. */
        @Param("128")
        public int capacity;

        private BenchmarkKey[] keys = {};
        private int next;

        /** Creates the keys. */
        @Setup
        public void fill() {
            keys = new BenchmarkKey[2 * capacity];
            for (int i = 0; i < keys.length; i++) {
                keys[i] = BenchmarkKey.of(i);
            }
        }

        BenchmarkKey next() {
            next = next + 1 == keys.length ? 0 : next + 1;
            return keys[next];
        }
    }

    /** The yardstick: an exact LRU in constant time, behind one lock, without single flight. */
    @State(Scope.Benchmark)
    public static class OfLinkedMap {
        private Map<BenchmarkKey, Object> map = Map.of();

        /** Creates the cache. */
        @Setup
        public void open(Asked asked) {
            map = Collections.synchronizedMap(new LinkedHashMap<>(16, 0.75f, true) {
                @Override
                protected boolean removeEldestEntry(Map.Entry<BenchmarkKey, Object> eldest) {
                    return size() > asked.capacity;
                }
            });
        }
    }

    /** The primitive cache. */
    @State(Scope.Benchmark)
    public static class OfPrimitives {
        private PrimitiveCache<BenchmarkKey, Object> cache = new PrimitiveCache<>(0);

        /** Creates the cache. */
        @Setup
        public void open(Asked asked) {
            cache.setCapacity(asked.capacity);
        }
    }

    /** Caffeine, which keeps some of the keys and therefore has hits: not the same work. */
    @State(Scope.Benchmark)
    public static class OfCaffeine {
        private com.github.benmanes.caffeine.cache.Cache<BenchmarkKey, Object> cache =
                Caffeine.newBuilder().build();

        /** Creates the cache. */
        @Setup
        public void open(Asked asked) {
            cache = Caffeine.newBuilder()
                    .maximumSize(asked.capacity)
                    .executor(Runnable::run)
                    .build();
        }
    }

    /** A miss. */
    @Benchmark
    public Object linkedMap(OfLinkedMap candidate, Asked asked) {
        BenchmarkKey key = asked.next();
        Object found = candidate.map.get(key);
        if (found == null) {
            candidate.map.put(key, VALUE);
            return VALUE;
        }
        return found;
    }

    /** A miss. */
    @Benchmark
    public Object primitive(OfPrimitives candidate, Asked asked) {
        return candidate.cache.get(asked.next(), _ -> VALUE);
    }

    /** A miss, or a hit. */
    @Benchmark
    public Object caffeine(OfCaffeine candidate, Asked asked) {
        return candidate.cache.get(asked.next(), _ -> VALUE);
    }
}
