package dev.granary.gpu.opencl;

import dev.granary.cache.build.StackReserve;
import dev.granary.gpu.Geometry;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * PoCL's own way to a complete binary without a launch: the environment variable {@code POCL_BINARY_SPECIALIZE_WG} lists the work-group
 * shapes for which the binary gets compiled functions, read when the binary is asked for (PoCL's documentation, "Tuning PoCL behavior with
 * environment variables").
 *
 * <p>PoCL up to 3.1 keeps the first value that it reads for the rest of the process. So the variable stays unset until shapes are needed,
 * and only the shapes of the first use, and those {@linkplain #expect expected} before it, are sure to be covered; later versions cover
 * those of each use. The variable is never removed, so that after its first use setting it only swaps a pointer: glibc moves the
 * environment's array only when a name is new, and keeps the array that the process started with.
 */
final class PoclSpecialization {
    private static final String VARIABLE = "POCL_BINARY_SPECIALIZE_WG";

    /** PoCL compiles a variant for grids narrower than this in every dimension (its devices' grid width limit). */
    private static final long SMALL_GRID_LIMIT = 0xffff;

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final String INITIAL = System.getenv().getOrDefault(VARIABLE, "");

    private static final Set<String> EXPECTED = new TreeSet<>(); // guarded by LOCK

    private static Set<String> surelyCovered = Set.of(); // guarded by LOCK
    private static boolean isUsed = !INITIAL.isBlank(); // guarded by LOCK

    private PoclSpecialization() {}

    /** Lets every binary that is taken from now on without a launch cover these geometries too. */
    static void expect(Collection<Geometry> geometries) {
        LOCK.lock();
        try {
            EXPECTED.addAll(shapes(geometries));
        } finally {
            LOCK.unlock();
        }
    }

    /** Runs {@code takeBinary} such that the binary covers the geometries if the driver lets it, beside what the environment asks for. */
    static <T> T covering(Collection<Geometry> geometries, Supplier<T> takeBinary) {
        StackReserve.require(); // a lock that is not let go would stop all others
        Set<String> shapes = shapes(geometries);
        if (shapes.isEmpty()) {
            return takeBinary.get();
        }
        LOCK.lock();
        try {
            shapes.addAll(EXPECTED);
            if (!isUsed) {
                isUsed = true;
                surelyCovered = Set.copyOf(shapes);
            }
            set(INITIAL.isBlank() ? String.join(",", shapes) : INITIAL + "," + String.join(",", shapes));
            return takeBinary.get();
        } finally {
            try {
                set(INITIAL);
            } finally {
                LOCK.unlock(); // else every other thread would wait for ever
            }
        }
    }

    /** True where a binary taken by {@link #covering} for that geometry has its function compiled, whatever the version of PoCL. */
    static boolean surelyCovers(Geometry geometry) {
        if (geometry.local().isEmpty()) {
            return false;
        }
        String shape = shape(geometry);
        LOCK.lock();
        try {
            return surelyCovered.contains(shape) || List.of(INITIAL.split(",", -1)).contains(shape);
        } finally {
            LOCK.unlock();
        }
    }

    /** The name of PoCL's work-group function for launches of that geometry, such as {@code 16-16-1-goffs0-smallgrid}. */
    static String shape(Geometry geometry) {
        StringBuilder shape = new StringBuilder();
        for (int i = 0; i < 3; i++) {
            shape.append(i < geometry.dimensions() ? geometry.local().get(i) : 1L).append('-');
        }
        shape.append("goffs0");
        boolean small = geometry.global().stream().allMatch(size -> size < SMALL_GRID_LIMIT);
        return small ? shape.append("-smallgrid").toString() : shape.toString();
    }

    private static Set<String> shapes(Collection<Geometry> geometries) {
        TreeSet<String> shapes = new TreeSet<>();
        geometries.stream().filter(geometry -> !geometry.local().isEmpty()).map(PoclSpecialization::shape).forEach(shapes::add);
        return shapes;
    }

    private static void set(String value) {
        try (Arena arena = Arena.ofConfined()) {
            int status = (int) SetEnv.HANDLE.invokeExact(arena.allocateFrom(VARIABLE), arena.allocateFrom(value), 1);
            if (status != 0) {
                throw new IllegalStateException("setenv(" + VARIABLE + ") failed");
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("setenv(" + VARIABLE + ") could not be called", e);
        }
    }

    private static final class SetEnv {
        static final MethodHandle HANDLE = Linker.nativeLinker()
                .downcallHandle(
                        Linker.nativeLinker().defaultLookup().findOrThrow("setenv"),
                        FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
    }
}
