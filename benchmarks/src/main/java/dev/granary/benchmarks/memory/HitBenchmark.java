package dev.granary.benchmarks.memory;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.GranaryBuilder;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryListener;

import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Benchmark of hits in memory, beside {@link ConcurrentHashMap#get}. Candidate and map take turns
 * of a millisecond in one JVM, so that other work on the machine affects both alike. 512
 * descriptors are requested one after the other; each equals the cached one and is another object.
 */
@BenchmarkMode(Mode.AverageTime)
public class HitBenchmark {
    /** The number of hits that are timed together. */
    static final int BATCH = 1024;

    private static final int KEYS = 512;
    private static final int TEXT_LENGTH = 200;
    private static final int TURN_BITS = 20; // of the nanoseconds
    private static final Target TARGET = new Target(Backend.OPENCL, "granary", "none", "none");

    /** A cache whose hits are measured. */
    @FunctionalInterface
    interface Hit {
        /** Returns the cached object of {@code key}. */
        @Nullable
        Object get(TextDescriptor key) throws Exception;
    }

    /**
     * A descriptor with 200 characters that are compared by value, and a hash code that is computed
     * once. Its id is empty, so it is cached in memory alone.
     */
    record TextDescriptor(String text, int hash, Id getId) implements PrimitiveDescriptor {
        static TextDescriptor of(int number) {
            // scattered as hash codes of descriptors are
            String text = new SplittableRandom(number)
                    .ints(TEXT_LENGTH, 'a', 'z' + 1)
                    .collect(
                            StringBuilder::new,
                            StringBuilder::appendCodePoint,
                            StringBuilder::append)
                    .toString();
            return new TextDescriptor(
                    text, text.hashCode(), Id.notCacheable("a benchmark of the memory"));
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof TextDescriptor that
                    && hash == that.hash
                    && text.equals(that.text);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public String name() {
            return "benchmark";
        }

        @Override
        public Target target() {
            return TARGET;
        }
    }

    /** A primitive without binaries. */
    private record EmptyPrimitive(TextDescriptor descriptor) implements Primitive {
        @Override
        public Origin origin() {
            return Origin.COMPILED;
        }

        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return KernelBinaries.none();
        }

        @Override
        public Duration compileTime() {
            return Duration.ZERO;
        }

        @Override
        public List<String> kernels() {
            return List.of();
        }
    }

    /** An engine that compiles nothing. */
    private static final class EmptyEngine implements Engine<TextDescriptor, EmptyPrimitive> {
        @Override
        public Target target() {
            return TARGET;
        }

        @Override
        public EmptyPrimitive create(TextDescriptor descriptor) {
            return new EmptyPrimitive(descriptor);
        }

        @Override
        public EmptyPrimitive create(
                TextDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
                throws RestoreException {
            throw new RestoreException("there are no binaries");
        }

        @Override
        public void close() {}
    }

    /** A candidate; each value has a JVM of its own. */
    @State(Scope.Benchmark)
    public static class Candidates {
        /** The candidate: another map shows the cost of the measurement. */
        @Param({"map", "cache", "granary", "listener"})
        private String candidate = "";

        private final Hit yardstick = map();
        private Hit measured = yardstick;

        /** Opens and fills the candidate. */
        @Setup
        public void fill() throws Exception {
            measured = switch (candidate) {
                case "map" -> map();
                case "cache" -> cache();
                case "granary" -> granary(_ -> {});
                default ->
                    granary(new GranaryListener() {
                        @Override
                        public boolean wantsMemoryHits() {
                            return true;
                        }

                        @Override
                        public void onEvent(GranaryEvent event) {}
                    });
            };
            for (int i = 0; i < KEYS; i++) {
                measured.get(TextDescriptor.of(i));
            }
        }

        private static Hit map() {
            Map<TextDescriptor, Object> map = new ConcurrentHashMap<>();
            for (int i = 0; i < KEYS; i++) {
                map.put(TextDescriptor.of(i), new Object());
            }
            return map::get;
        }

        private static Hit cache() {
            PrimitiveCache<TextDescriptor, Object> cache =
                    new PrimitiveCache<>(PrimitiveCache.DEFAULT_CAPACITY);
            return key -> cache.get(key, _ -> new Object());
        }

        /** Opens a Granary without a local tier. */
        private static Hit granary(GranaryListener listener) throws Exception {
            GranaryConfig config = GranaryConfig.builder()
                    .environment(Map.of("XDG_CONFIG_HOME", "/nonexistent", "HOME", "/nonexistent"))
                    .offline()
                    .capacity("0")
                    .build();
            GranaryBuilder builder = Granary.builder().config(config).listener(listener);
            Granary granary = builder.open(); // open until its JVM ends
            EmptyEngine engine = new EmptyEngine();
            return key -> granary.primitive(engine, key);
        }
    }

    /** The keys of one thread, and the times of its hits. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Turns {
        private final TextDescriptor[] keys = new TextDescriptor[KEYS];
        private int next;

        /** Batches of the map. */
        public long mapBatches;

        /** Nanoseconds of the map. */
        public long mapNanos;

        /** Batches of the candidate. */
        public long batches;

        /** Nanoseconds of the candidate. */
        public long nanos;

        /** Creates the keys of this thread. */
        @Setup
        public void prepare() {
            for (int i = 0; i < KEYS; i++) {
                keys[i] = TextDescriptor.of(i);
            }
        }

        private TextDescriptor next() {
            next = (next + 1) & (KEYS - 1);
            return keys[next];
        }
    }

    /**
     * A batch of the cache whose turn it is, by the clock that all threads share. Each cache has a
     * loop of its own, which is compiled for it alone.
     */
    @Benchmark
    public void hits(Candidates caches, Turns turns, Blackhole hole) throws Exception {
        long start = System.nanoTime();
        if ((start >> TURN_BITS & 1) == 0) {
            Hit map = caches.yardstick;
            for (int i = 0; i < BATCH; i++) {
                hole.consume(map.get(turns.next()));
            }
            turns.mapNanos += System.nanoTime() - start;
            turns.mapBatches++;
        } else {
            Hit candidate = caches.measured;
            for (int i = 0; i < BATCH; i++) {
                hole.consume(candidate.get(turns.next()));
            }
            turns.nanos += System.nanoTime() - start;
            turns.batches++;
        }
    }
}
