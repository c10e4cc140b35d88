package dev.granary.benchmarks.memory;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.google.common.cache.CacheBuilder;

import dev.granary.cache.constant.ConstantHold;
import dev.granary.cache.constant.ConstantKey;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.cache.memory.RuntimeParametersCache;

import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/**
 * Benchmark of hits of each candidate, which takes turns of a millisecond with a map: see
 * {@link HitTurns}. 512 keys like descriptors are requested one after the other. Each requested key
 * equals the cached one and is another object. Each candidate has its own JVM, so that no code is
 * compiled for several. Each has its own state class as well, although they look alike: JMH finds
 * state by class.
 */
@BenchmarkMode(Mode.AverageTime)
public class HitBenchmark {
    private static final int KEYS = 512;
    private static final int CAPACITY = PrimitiveCache.DEFAULT_CAPACITY;

    /** A cache whose hits are measured. */
    interface Hit {
        /** Returns the value of the next key. */
        @Nullable
        Object next(Asked asked);
    }

    /** Passes all keys to {@code add}. */
    private static void fill(Consumer<BenchmarkKey> add) {
        for (int i = 0; i < KEYS; i++) {
            add.accept(BenchmarkKey.of(i));
        }
    }

    /** The keys of one thread. */
    @State(Scope.Thread)
    public static class Asked {
        private final BenchmarkKey[] keys = new BenchmarkKey[KEYS];
        private int next;

        /** Creates the keys of this thread. */
        public Asked() {
            for (int i = 0; i < KEYS; i++) {
                keys[i] = BenchmarkKey.of(i);
            }
        }

        int nextIndex() {
            next = (next + 1) & (KEYS - 1);
            return next;
        }

        BenchmarkKey next() {
            return keys[nextIndex()];
        }
    }

    /** The yardstick: a map without bound, order or counters. */
    @State(Scope.Benchmark)
    public static class Yardstick implements Hit {
        private final ConcurrentHashMap<BenchmarkKey, Object> map = new ConcurrentHashMap<>();

        /** Fills the cache. */
        public Yardstick() {
            fill(key -> map.put(key, new Object()));
        }

        @Override
        public @Nullable Object next(Asked asked) {
            return map.get(asked.next());
        }
    }

    /** Another such map, which shows the cost of the measurement. */
    @State(Scope.Benchmark)
    public static class OfMap extends Yardstick {}

    /** The primitive cache. */
    @State(Scope.Benchmark)
    public static class OfPrimitives implements Hit {
        private final PrimitiveCache<BenchmarkKey, Object> cache = new PrimitiveCache<>(CAPACITY);

        /** Fills the cache. */
        public OfPrimitives() {
            fill(key -> cache.get(key, _ -> new Object()));
        }

        @Override
        public Object next(Asked asked) {
            return cache.get(asked.next(), _ -> new Object());
        }
    }

    /** The runtime-parameters cache: each thread has its own. */
    @State(Scope.Thread)
    public static class OfRuntimeParameters implements Hit {
        private final RuntimeParametersCache.Partition<BenchmarkKey, Object> cache =
                new RuntimeParametersCache(CAPACITY).partition(BenchmarkKey.class, Object.class);

        /** Fills the cache. */
        public OfRuntimeParameters() {
            fill(key -> cache.getOrCreate(key, _ -> new Object()));
        }

        @Override
        public Object next(Asked asked) {
            return cache.getOrCreate(asked.next(), _ -> new Object()).value();
        }
    }

    /** The constant tensor cache, of a device without a limit. */
    @State(Scope.Benchmark)
    public static class OfConstants {
        private final ConstantTensorCache cache =
                new ConstantTensorCaches(ConstantLimits.NONE).of(EngineKind.GPU, 0);

        /** Fills the cache. */
        public OfConstants() {
            fill(key -> get(new ConstantKey<>(Tensor.class, "bench", "context", key))
                    .close());
        }

        ConstantHold<Tensor> get(ConstantKey<Tensor> key) {
            return cache.get(key, 1, Tensor::new);
        }
    }

    /** A piece of device memory. */
    public static final class Tensor implements AutoCloseable {
        @Override
        public void close() {}
    }

    /** Constants that one thread requests and releases. */
    @State(Scope.Thread)
    public static class AskedConstants implements Hit {
        private final List<ConstantKey<Tensor>> keys = new ArrayList<>(KEYS);
        private @Nullable OfConstants constants;

        /** Creates the keys of this thread. */
        @Setup
        public void prepare(OfConstants candidate) {
            fill(key -> keys.add(new ConstantKey<>(Tensor.class, "bench", "context", key)));
            constants = candidate;
        }

        @Override
        public Object next(Asked asked) {
            try (ConstantHold<Tensor> hit =
                    Objects.requireNonNull(constants).get(keys.get(asked.nextIndex()))) {
                return hit.buffer();
            }
        }
    }

    /** Constants that one thread holds, and uses as long as they are cached. */
    @State(Scope.Thread)
    public static class HeldConstants implements Hit {
        private final List<ConstantHold<Tensor>> held = new ArrayList<>(KEYS);

        /** Acquires all constants. */
        @Setup
        public void hold(OfConstants candidate) {
            fill(key -> held.add(
                    candidate.get(new ConstantKey<>(Tensor.class, "bench", "context", key))));
        }

        @Override
        public @Nullable Object next(Asked asked) {
            ConstantHold<Tensor> constant = held.get(asked.nextIndex());
            return constant.isCached() ? constant.buffer() : null;
        }
    }

    /** Caffeine. */
    @State(Scope.Benchmark)
    public static class OfCaffeine implements Hit {
        private final com.github.benmanes.caffeine.cache.Cache<BenchmarkKey, Object> cache =
                Caffeine.newBuilder().maximumSize(CAPACITY).build();

        /** Fills the cache. */
        public OfCaffeine() {
            fill(key -> cache.put(key, new Object()));
        }

        @Override
        public Object next(Asked asked) {
            return cache.get(asked.next(), _ -> new Object());
        }
    }

    /** Guava. */
    @State(Scope.Benchmark)
    public static class OfGuava implements Hit {
        private final com.google.common.cache.Cache<BenchmarkKey, Object> cache =
                CacheBuilder.newBuilder().maximumSize(CAPACITY).build();

        /** Fills the cache. */
        public OfGuava() {
            fill(key -> cache.put(key, new Object()));
        }

        @Override
        public Object next(Asked asked) {
            try {
                return cache.get(asked.next(), Object::new);
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Hits of another map. */
    @Benchmark
    public void concurrentHashMap(
            Yardstick yardstick, OfMap candidate, Asked asked, HitTurns turns, Blackhole hole) {
        turns.take(yardstick, candidate, asked, hole);
    }

    /** Hits of the primitive cache. */
    @Benchmark
    public void primitive(
            Yardstick yardstick,
            OfPrimitives candidate,
            Asked asked,
            HitTurns turns,
            Blackhole hole) {
        turns.take(yardstick, candidate, asked, hole);
    }

    /** Hits of the runtime-parameters cache. */
    @Benchmark
    public void runtimeParameters(
            Yardstick yardstick,
            OfRuntimeParameters candidate,
            Asked asked,
            HitTurns turns,
            Blackhole hole) {
        turns.take(yardstick, candidate, asked, hole);
    }

    /** Hits of the constant tensor cache, each released at once. */
    @Benchmark
    public void constant(
            Yardstick yardstick,
            AskedConstants candidate,
            Asked asked,
            HitTurns turns,
            Blackhole hole) {
        turns.take(yardstick, candidate, asked, hole);
    }

    /** Hits of constants that are held. */
    @Benchmark
    public void constantHeld(
            Yardstick yardstick,
            HeldConstants candidate,
            Asked asked,
            HitTurns turns,
            Blackhole hole) {
        turns.take(yardstick, candidate, asked, hole);
    }

    /** Hits of Caffeine. */
    @Benchmark
    public void caffeine(
            Yardstick yardstick,
            OfCaffeine candidate,
            Asked asked,
            HitTurns turns,
            Blackhole hole) {
        turns.take(yardstick, candidate, asked, hole);
    }

    /** Hits of Guava. */
    @Benchmark
    public void guava(
            Yardstick yardstick, OfGuava candidate, Asked asked, HitTurns turns, Blackhole hole) {
        turns.take(yardstick, candidate, asked, hole);
    }
}
