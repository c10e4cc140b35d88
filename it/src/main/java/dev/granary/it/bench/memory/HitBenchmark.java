package dev.granary.it.bench.memory;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.google.common.cache.CacheBuilder;
import dev.granary.cache.constant.Constant;
import dev.granary.cache.constant.ConstantKey;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.cache.constant.ConstantTensorCaches;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.cache.memory.PrimitiveCachePolicy;
import dev.granary.cache.memory.RuntimeParametersCache;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * A hit, once per candidate. 512 keys like descriptors are asked for in turn; each that is asked for equals the one in the cache and is another object.
 * Each candidate is filled in its own JVM only, so that none runs in code that was compiled for several.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class HitBenchmark {
    private static final int KEYS = 512;
    private static final int CAPACITY = PrimitiveCache.DEFAULT_CAPACITY;

    /** Asks {@code add} to keep all keys. */
    private static void fill(Consumer<Key> add) {
        for (int i = 0; i < KEYS; i++) {
            add.accept(Key.of(i));
        }
    }

    /** The keys that one thread asks for. */
    @State(Scope.Thread)
    public static class Asked {
        private final Key[] keys = new Key[KEYS];
        private int next;

        /** Makes keys of its own. */
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

    /** The floor: a map without bound, order or counters. */
    @State(Scope.Benchmark)
    public static class OfMap {
        private final ConcurrentHashMap<Key, Object> map = new ConcurrentHashMap<>();

        /** Fills it. */
        public OfMap() {
            fill(key -> map.put(key, new Object()));
        }
    }

    /** The primitive cache as it is where nobody chose. */
    @State(Scope.Benchmark)
    public static class OfPrimitives {
        private final PrimitiveCache<Key, Object> cache = new PrimitiveCache<>(CAPACITY);

        /** Fills it. */
        public OfPrimitives() {
            fill(key -> cache.get(key, _ -> new Object()));
        }
    }

    /** The primitive cache with W-TinyLFU. */
    @State(Scope.Benchmark)
    public static class OfTinyLfu {
        private final PrimitiveCache<Key, Object> cache = new PrimitiveCache<>(CAPACITY, PrimitiveCachePolicy.W_TINY_LFU);

        /** Fills it. */
        public OfTinyLfu() {
            fill(key -> cache.get(key, _ -> new Object()));
        }
    }

    /** The runtime-parameters cache: each thread has its own. */
    @State(Scope.Thread)
    public static class OfRuntimeParameters {
        private final RuntimeParametersCache.Partition<Key, Object> cache = new RuntimeParametersCache(CAPACITY).partition(Key.class, Object.class);

        /** Fills it. */
        public OfRuntimeParameters() {
            fill(key -> cache.getOrCreate(key, _ -> new Object()));
        }
    }

    /** The constant tensor cache, of a device without a limit. */
    @State(Scope.Benchmark)
    public static class OfConstants {
        private final ConstantTensorCache cache = new ConstantTensorCaches(ConstantLimits.NONE).of(EngineKind.GPU, 0);

        /** Fills it. */
        public OfConstants() {
            fill(key -> get(new ConstantKey<>(Tensor.class, "bench", "context", key)).close());
        }

        Constant<Tensor> get(ConstantKey<Tensor> key) {
            return cache.get(key, 1, Tensor::new);
        }
    }

    /** What stands for a piece of device memory. */
    public static final class Tensor implements AutoCloseable {
        @Override
        public void close() {}
    }

    /** The tensors that one thread asks for, or holds. */
    @State(Scope.Thread)
    public static class AskedConstants {
        private final List<ConstantKey<Tensor>> keys = new ArrayList<>(KEYS);
        private final List<Constant<Tensor>> held = new ArrayList<>(KEYS);
        private int next;

        /** Makes keys of its own, and takes hold of all. */
        @Setup
        public void hold(OfConstants candidate) {
            fill(key -> keys.add(new ConstantKey<>(Tensor.class, "bench", "context", key)));
            keys.forEach(key -> held.add(candidate.get(key)));
        }

        int next() {
            next = (next + 1) & (KEYS - 1);
            return next;
        }
    }

    /** Caffeine. */
    @State(Scope.Benchmark)
    public static class OfCaffeine {
        private final com.github.benmanes.caffeine.cache.Cache<Key, Object> cache = Caffeine.newBuilder().maximumSize(CAPACITY).build();

        /** Fills it. */
        public OfCaffeine() {
            fill(key -> cache.put(key, new Object()));
        }
    }

    /** Guava. */
    @State(Scope.Benchmark)
    public static class OfGuava {
        private final com.google.common.cache.Cache<Key, Object> cache = CacheBuilder.newBuilder().maximumSize(CAPACITY).build();

        /** Fills it. */
        public OfGuava() {
            fill(key -> cache.put(key, new Object()));
        }
    }

    /** A look-up in the map. */
    @Benchmark
    public @Nullable Object concurrentHashMap(OfMap candidate, Asked asked) {
        return candidate.map.get(asked.next());
    }

    /** A hit. */
    @Benchmark
    public Object primitive(OfPrimitives candidate, Asked asked) {
        return candidate.cache.get(asked.next(), _ -> new Object());
    }

    /** A hit. */
    @Benchmark
    public Object primitiveTinyLfu(OfTinyLfu candidate, Asked asked) {
        return candidate.cache.get(asked.next(), _ -> new Object());
    }

    /** A hit. */
    @Benchmark
    public Object runtimeParameters(OfRuntimeParameters candidate, Asked asked) {
        return candidate.cache.getOrCreate(asked.next(), _ -> new Object()).value();
    }

    /** A hit: asked for, and given back. */
    @Benchmark
    public Object constant(OfConstants candidate, AskedConstants asked) {
        try (Constant<Tensor> hit = candidate.get(asked.keys.get(asked.next()))) {
            return hit.buffer();
        }
    }

    /** The use of one that is held, as long as it is cached. */
    @Benchmark
    public @Nullable Object constantHeld(OfConstants candidate, AskedConstants asked) {
        Constant<Tensor> held = asked.held.get(asked.next());
        return held.isCached() ? held.buffer() : null;
    }

    /** A hit. */
    @Benchmark
    public Object caffeine(OfCaffeine candidate, Asked asked) {
        return candidate.cache.get(asked.next(), _ -> new Object());
    }

    /** A hit. */
    @Benchmark
    public Object guava(OfGuava candidate, Asked asked) throws ExecutionException {
        return candidate.cache.get(asked.next(), Object::new);
    }
}
