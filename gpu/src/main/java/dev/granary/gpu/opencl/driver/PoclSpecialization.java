package dev.granary.gpu.opencl.driver;

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
 * Access to PoCL's option to complete a binary without a launch. The environment variable
 * {@code POCL_BINARY_SPECIALIZE_WG} lists the work-group shapes for which the binary contains
 * compiled functions. PoCL reads it when the binary is taken (PoCL's documentation, "Tuning PoCL
 * behavior with environment variables").
 *
 * <p>PoCL up to 3.1 keeps the first value that it reads for the rest of the process; later versions
 * read it at each use. So the variable stays unset until shapes are needed. Only the shapes of the
 * first use, and those {@linkplain #expect expected} before it, are certain to be covered. The
 * variable is never removed, so that setting it again only swaps a pointer. glibc moves the array
 * of the environment only for a new name, and keeps the initial array.
 */
public final class PoclSpecialization {
    private static final String VARIABLE = "POCL_BINARY_SPECIALIZE_WG";

    /**
     * PoCL compiles a variant for grids smaller than this in every dimension (its devices' grid
     * width limit).
     */
    private static final long SMALL_GRID_LIMIT = 0xffff;

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final String INITIAL = System.getenv().getOrDefault(VARIABLE, "");

    private static final Set<String> EXPECTED = new TreeSet<>(); // guarded by LOCK

    private static Set<String> surelyCovered = Set.of(); // guarded by LOCK
    private static boolean isUsed = !INITIAL.isBlank(); // guarded by LOCK

    private PoclSpecialization() {}

    /** Adds geometries that all binaries taken from now on without a launch cover too. */
    public static void expect(Collection<Geometry> geometries) {
        LOCK.lock();
        try {
            EXPECTED.addAll(shapes(geometries));
        } finally {
            LOCK.unlock();
        }
    }

    /**
     * Runs {@code takeBinary} so that the binary covers the geometries, if the driver supports it,
     * in addition to those in the environment.
     */
    public static <T> T covering(Collection<Geometry> geometries, Supplier<T> takeBinary) {
        Set<String> shapes = shapes(geometries);
        if (shapes.isEmpty()) {
            return takeBinary.get();
        }
        LOCK.lock();
        try {
            shapes.addAll(EXPECTED);
            boolean isFirst = !isUsed;
            isUsed = true;
            set(
                    INITIAL.isBlank()
                            ? String.join(",", shapes)
                            : INITIAL + "," + String.join(",", shapes));
            T binary = takeBinary.get();
            if (isFirst) {
                surelyCovered = Set.copyOf(shapes);
            }
            return binary;
        } finally {
            try {
                set(INITIAL);
            } finally {
                LOCK.unlock(); // otherwise all other threads would wait forever
            }
        }
    }

    /**
     * Returns true if a binary taken by {@link #covering} certainly contains the function of that
     * geometry, in any version of PoCL.
     */
    public static boolean surelyCovers(Geometry geometry) {
        if (geometry.local().isEmpty()) {
            return false;
        }
        String shape = shape(geometry);
        LOCK.lock();
        try {
            return surelyCovered.contains(shape)
                    || List.of(INITIAL.split(",", -1)).contains(shape);
        } finally {
            LOCK.unlock();
        }
    }

    /**
     * Returns the name of PoCL's work-group function for that geometry, such as
     * {@code 16-16-1-goffs0-smallgrid}.
     */
    private static String shape(Geometry geometry) {
        StringBuilder shape = new StringBuilder();
        for (int i = 0; i < 3; i++) {
            shape.append(i < geometry.dimensions() ? geometry.local().get(i) : 1L)
                    .append('-');
        }
        shape.append("goffs0");
        boolean small = geometry.global().stream().allMatch(size -> size < SMALL_GRID_LIMIT);
        return small ? shape.append("-smallgrid").toString() : shape.toString();
    }

    private static Set<String> shapes(Collection<Geometry> geometries) {
        TreeSet<String> shapes = new TreeSet<>();
        geometries.stream()
                .filter(geometry -> !geometry.local().isEmpty())
                .map(PoclSpecialization::shape)
                .forEach(shapes::add);
        return shapes;
    }

    private static void set(String value) {
        try (Arena arena = Arena.ofConfined()) {
            int status = (int) SetEnv.HANDLE.invokeExact(
                    arena.allocateFrom(VARIABLE), arena.allocateFrom(value), 1);
            if (status != 0) {
                throw new IllegalStateException("setenv(" + VARIABLE + ") failed");
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("setenv(" + VARIABLE + ") could not be called", e);
        }
    }

    /** Holder of the native function {@code setenv}, looked up at the first use. */
    private static final class SetEnv {
        static final MethodHandle HANDLE = Linker.nativeLinker()
                .downcallHandle(
                        Linker.nativeLinker().defaultLookup().findOrThrow("setenv"),
                        FunctionDescriptor.of(
                                ValueLayout.JAVA_INT,
                                ValueLayout.ADDRESS,
                                ValueLayout.ADDRESS,
                                ValueLayout.JAVA_INT));
    }
}
