package dev.granary.cache.memory;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jspecify.annotations.Nullable;

/**
 * Lincheck's model checker on the single flight, in a JVM of its own. Prints one line each for two threads on one key, for threads that do this and that, and
 * for a cache without the single flight. A value is the number of the build that made it: a second build of one key shows as 2.
 */
public final class SingleFlightModel {
    static final String LINEARIZABLE = "linearizable";
    static final String NOT_LINEARIZABLE = "not linearizable";

    private static final int SCENARIOS = 3;
    private static final int INTERLEAVINGS_OF_ONE = 60;
    private static final int INTERLEAVINGS_ON_ONE_KEY = 1000;

    private SingleFlightModel() {}

    /** Threads that ask for one key and nothing else: few steps, so that nearly all orders of them are tried. */
    public static class OneKey {
        private final PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(10);
        private final AtomicIntegerArray builds = new AtomicIntegerArray(2);

        /** Gets the value. */
        @Operation
        public int get() {
            return cache.get(1, builds::incrementAndGet);
        }
    }

    /** What threads do with the cache. */
    public static class Cached {
        private final PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(10);
        private final AtomicIntegerArray builds = new AtomicIntegerArray(4);

        /** Gets a value that may have to be built. */
        @Operation
        public int get(@Param(gen = IntGen.class, conf = "1:2") int key) {
            return cache.get(key, builds::incrementAndGet);
        }

        /** Gets a value if it is there. */
        @Operation
        public @Nullable Integer peek(@Param(gen = IntGen.class, conf = "1:2") int key) {
            return cache.peek(key);
        }

        /** Counts. */
        @Operation
        public int size() {
            return cache.size();
        }

        /** Gets a value that cannot be built. */
        @Operation
        public String failing() {
            try {
                return "built " + cache.get(3, _ -> {
                    throw new IllegalArgumentException("on purpose");
                });
            } catch (IllegalArgumentException e) {
                return "failed";
            }
        }
    }

    /** The same without the single flight: looks, builds, keeps. */
    public static class Racy {
        private final ValueStore<Integer, Integer> store = new LruStore<>(new PrimitiveCache<>(0), 10);
        private final AtomicIntegerArray builds = new AtomicIntegerArray(4);

        /** Gets a value that may have to be built. */
        @Operation
        public int get(@Param(gen = IntGen.class, conf = "1:2") int key) {
            Integer found = store.find(key);
            if (found != null) {
                return found;
            }
            int built = builds.incrementAndGet(key);
            store.put(key, built);
            return built;
        }
    }

    /** Runs all. */
    public static void main(String[] arguments) {
        // What is not the single flight's own is one step.
        var atomic = ManagedStrategyGuaranteeKt.forClasses(ConcurrentHashMap.class.getName(), LongAdder.class.getName(),
                LruStore.class.getName(), ConcurrentLru.class.getName(), AccessStripes.class.getName()).allMethods().treatAsAtomic();
        System.out.println("one key: " + verdict(OneKey.class, new ModelCheckingOptions().iterations(1)
                .invocationsPerIteration(INTERLEAVINGS_ON_ONE_KEY).threads(2).actorsPerThread(1).actorsBefore(0).actorsAfter(1).addGuarantee(atomic)));
        System.out.println("cache: " + verdict(Cached.class, scenarios()));
        System.out.println("without single flight: " + verdict(Racy.class, scenarios()));
        System.exit(0); // Lincheck leaves threads
    }

    private static ModelCheckingOptions scenarios() {
        return new ModelCheckingOptions().iterations(SCENARIOS).invocationsPerIteration(INTERLEAVINGS_OF_ONE).threads(2).actorsPerThread(3)
                .actorsBefore(1).actorsAfter(1);
    }

    private static String verdict(Class<?> operations, ModelCheckingOptions options) {
        try {
            options.check(operations);
            return LINEARIZABLE;
        } catch (LincheckAssertionError e) {
            System.out.println(e.getMessage());
            return NOT_LINEARIZABLE;
        }
    }
}
