package dev.granary.cache.memory;

import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * A run of Lincheck's model checker on single flight, in its own JVM. It prints one line for two
 * threads on one key, one for mixed operations, and one for a cache without single flight. A value
 * is the number of its build: a second build of one key shows as 2.
 */
public final class SingleFlightModel {
    static final String LINEARIZABLE = "linearizable";
    static final String NOT_LINEARIZABLE = "not linearizable";

    private static final int SCENARIOS = 3;
    private static final int INTERLEAVINGS_OF_ONE = 60;
    private static final int INTERLEAVINGS_ON_ONE_KEY = 1000;

    private SingleFlightModel() {}

    /** Threads that look up one key only: few steps, so that nearly all interleavings are tried. */
    public static class OneKey {
        private final PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(10);
        private final AtomicIntegerArray builds = new AtomicIntegerArray(2);

        /** Gets the value. */
        @Operation
        public int get() {
            return cache.get(1, builds::incrementAndGet);
        }
    }

    /** Mixed operations on the cache. */
    public static class Cached {
        private final PrimitiveCache<Integer, Integer> cache = new PrimitiveCache<>(10);
        private final AtomicIntegerArray builds = new AtomicIntegerArray(4);

        /** Gets a value, which may have to be built. */
        @Operation
        public int get(@Param(gen = IntGen.class, conf = "1:2") int key) {
            return cache.get(key, builds::incrementAndGet);
        }

        /** Gets a value if it is present. */
        @Operation
        public @Nullable Integer peek(@Param(gen = IntGen.class, conf = "1:2") int key) {
            return cache.peek(key);
        }

        /** Returns the size. */
        @Operation
        public int size() {
            return cache.size();
        }

        /** Gets a value whose build fails. */
        @Operation
        public String failing() {
            try {
                return "built "
                        + cache.get(3, _ -> {
                            throw new IllegalArgumentException("on purpose");
                        });
            } catch (IllegalArgumentException e) {
                return "failed";
            }
        }
    }

    /** The same without single flight: look up, build, store. */
    public static class Racy {
        private final ConcurrentHashMap<Integer, Integer> values = new ConcurrentHashMap<>();
        private final AtomicIntegerArray builds = new AtomicIntegerArray(4);

        /** Gets a value, which may have to be built. */
        @Operation
        public int get(@Param(gen = IntGen.class, conf = "1:2") int key) {
            Integer found = values.get(key);
            if (found != null) {
                return found;
            }
            int built = builds.incrementAndGet(key);
            values.put(key, built);
            return built;
        }
    }

    /** Runs all model checks. */
    public static void main(String[] arguments) {
        // calls of these count as one step
        var atomic = ManagedStrategyGuaranteeKt.forClasses(
                        ConcurrentHashMap.class.getName(), LongAdder.class.getName())
                .allMethods()
                .treatAsAtomic();
        System.out.println("one key: "
                + verdict(
                        OneKey.class,
                        new ModelCheckingOptions()
                                .iterations(1)
                                .invocationsPerIteration(INTERLEAVINGS_ON_ONE_KEY)
                                .threads(2)
                                .actorsPerThread(1)
                                .actorsBefore(0)
                                .actorsAfter(1)
                                .addGuarantee(atomic)));
        System.out.println("cache: " + verdict(Cached.class, scenarios()));
        System.out.println("without single flight: " + verdict(Racy.class, scenarios()));
        System.exit(0); // Lincheck leaves threads
    }

    private static ModelCheckingOptions scenarios() {
        return new ModelCheckingOptions()
                .iterations(SCENARIOS)
                .invocationsPerIteration(INTERLEAVINGS_OF_ONE)
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(1)
                .actorsAfter(1);
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
