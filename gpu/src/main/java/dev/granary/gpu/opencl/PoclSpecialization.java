package dev.granary.gpu.opencl;

import dev.granary.gpu.Geometry;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Collection;
import java.util.TreeSet;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * PoCL's own way to a complete binary without a launch: the environment variable {@code POCL_BINARY_SPECIALIZE_WG} lists the work-group
 * shapes for which the binary gets compiled functions, read when the binary is asked for (PoCL's documentation, "Tuning PoCL behavior with
 * environment variables").
 *
 * <p>The variable exists before any driver thread runs, so that setting it later only swaps a pointer: glibc moves the environment's
 * array only when a name is new.
 */
final class PoclSpecialization {
    private static final String VARIABLE = "POCL_BINARY_SPECIALIZE_WG";

    /** PoCL compiles a variant for grids narrower than this in every dimension (its devices' grid width limit). */
    private static final long SMALL_GRID_LIMIT = 0xffff;

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final String INITIAL = System.getenv().getOrDefault(VARIABLE, "");

    private PoclSpecialization() {}

    /** Makes sure that the variable exists. */
    static void prepareEnvironment() {
        LOCK.lock();
        try {
            set(INITIAL);
        } finally {
            LOCK.unlock();
        }
    }

    /** Runs {@code takeBinary} such that the binary covers the geometries, beside what the environment asks for anyway. */
    static <T> T covering(Collection<Geometry> geometries, Supplier<T> takeBinary) {
        TreeSet<String> shapes = new TreeSet<>();
        if (!INITIAL.isBlank()) {
            shapes.add(INITIAL);
        }
        geometries.stream().filter(geometry -> !geometry.local().isEmpty()).map(PoclSpecialization::shape).forEach(shapes::add);
        if (shapes.isEmpty()) {
            return takeBinary.get();
        }
        LOCK.lock();
        try {
            set(String.join(",", shapes));
            return takeBinary.get();
        } finally {
            set(INITIAL);
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
