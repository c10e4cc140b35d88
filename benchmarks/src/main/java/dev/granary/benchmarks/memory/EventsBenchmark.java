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
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.event.LookupEvent;

import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * Benchmark of hits in memory through {@link Granary}: without a listener, with one that leaves out
 * such hits, and with one that receives them, beside the cache that all of them use.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class EventsBenchmark {
    private static final int KEYS = 512;
    private static final Target TARGET = new Target(Backend.OPENCL, "granary", "none", "none");

    /** A descriptor with a text to compare, and the empty id: it is cached in memory alone. */
    private record TextDescriptor(BenchmarkKey key, Id getId) implements PrimitiveDescriptor {
        static TextDescriptor of(int number) {
            return new TextDescriptor(
                    BenchmarkKey.of(number), Id.notCacheable("a benchmark of the memory"));
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof TextDescriptor that && key.equals(that.key);
        }

        @Override
        public int hashCode() {
            return key.hashCode();
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

        @Override
        public List<String> geometries() {
            return List.of();
        }

        @Override
        public void onBinariesComplete(Runnable action) {
            action.run();
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

    /** The requested descriptors: they equal those in the cache, but are other objects. */
    @State(Scope.Thread)
    public static class Asked {
        private final EmptyEngine engine = new EmptyEngine();
        private TextDescriptor[] descriptors = {};
        private int next;

        /** Creates the descriptors. */
        @Setup
        public void fill() {
            descriptors = new TextDescriptor[KEYS];
            for (int i = 0; i < KEYS; i++) {
                descriptors[i] = TextDescriptor.of(i);
            }
        }

        private TextDescriptor next() {
            next = next + 1 == KEYS ? 0 : next + 1;
            return descriptors[next];
        }
    }

    /** The cache alone. */
    @State(Scope.Benchmark)
    public static class OfCache {
        private final PrimitiveCache<PrimitiveDescriptor, Primitive> cache =
                new PrimitiveCache<>(PrimitiveCache.DEFAULT_CAPACITY);

        /** Fills the cache. */
        @Setup
        public void fill() {
            for (int i = 0; i < KEYS; i++) {
                TextDescriptor descriptor = TextDescriptor.of(i);
                cache.get(descriptor, _ -> new EmptyPrimitive(descriptor));
            }
        }
    }

    /** A Granary without a local tier. */
    private static Granary open(GranaryListener... listeners) throws Exception {
        GranaryConfig config = GranaryConfig.builder()
                .environment(Map.of("XDG_CONFIG_HOME", "/nonexistent", "HOME", "/nonexistent"))
                .offline()
                .capacity("0")
                .build();
        var builder = Granary.builder().config(config);
        for (GranaryListener listener : listeners) {
            builder.listener(listener);
        }
        Granary granary = builder.open();
        for (int i = 0; i < KEYS; i++) {
            granary.primitive(new EmptyEngine(), TextDescriptor.of(i));
        }
        return granary;
    }

    /** A Granary without a listener. */
    @State(Scope.Benchmark)
    public static class Unobserved {
        private @Nullable Granary granary;

        /** Opens and fills it. */
        @Setup
        public void fill() throws Exception {
            granary = open();
        }

        /** Closes it. */
        @TearDown
        public void close() {
            Objects.requireNonNull(granary).close();
        }
    }

    /** A Granary with a listener that leaves out hits in memory. */
    @State(Scope.Benchmark)
    public static class Observed {
        private @Nullable Granary granary;

        /** Opens and fills it. */
        @Setup
        public void fill() throws Exception {
            granary = open(new GranaryListener() {});
        }

        /** Closes it. */
        @TearDown
        public void close() {
            Objects.requireNonNull(granary).close();
        }
    }

    /** A Granary with a listener that receives all hits in memory. */
    @State(Scope.Benchmark)
    public static class Followed {
        private @Nullable Granary granary;

        /** Opens and fills it. */
        @Setup
        public void fill() throws Exception {
            granary = open(new GranaryListener() {
                @Override
                public boolean wantsMemoryHits() {
                    return true;
                }

                @Override
                public void onLookup(LookupEvent event) {}
            });
        }

        /** Closes it. */
        @TearDown
        public void close() {
            Objects.requireNonNull(granary).close();
        }
    }

    /** A hit of the cache alone. */
    @Benchmark
    public Object cache(Asked asked, OfCache candidate) {
        EmptyEngine engine = asked.engine;
        TextDescriptor descriptor = asked.next();
        return candidate.cache.get(descriptor, _ -> engine.create(descriptor));
    }

    /** A hit through Granary. */
    @Benchmark
    public Object unobserved(Asked asked, Unobserved candidate) throws Exception {
        return Objects.requireNonNull(candidate.granary).primitive(asked.engine, asked.next());
    }

    /** A hit through Granary with a listener for other events. */
    @Benchmark
    public Object observed(Asked asked, Observed candidate) throws Exception {
        return Objects.requireNonNull(candidate.granary).primitive(asked.engine, asked.next());
    }

    /** A hit through Granary with an event. */
    @Benchmark
    public Object followed(Asked asked, Followed candidate) throws Exception {
        return Objects.requireNonNull(candidate.granary).primitive(asked.engine, asked.next());
    }
}
