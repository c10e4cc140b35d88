package dev.granary.gpu.levelzero.binding;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.granary.gpu.DriverException;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * The loader of Level Zero in this process, which gives access to its functions. Immutable.
 *
 * <p>Pointers, handles and sizes are passed as {@link #POINTER}. Few signatures then have to be
 * linked, which is most of the time that the first call of a process takes.
 */
public final class ZeLibrary {
    /** The layout of a pointer, a handle or a size. */
    static final ValueLayout.OfLong POINTER = JAVA_LONG;

    private static final int SUCCESS = 0;

    private final SymbolLookup symbols;

    private ZeLibrary(SymbolLookup symbols) {
        this.symbols = symbols;
    }

    /** One native call, which returns its status. */
    @FunctionalInterface
    interface Call {
        /** Makes the call. */
        int run() throws Throwable;
    }

    /** A native call that lists handles: their number, and the handles if there is room. */
    @FunctionalInterface
    interface Listing {
        /** Makes the call with the addresses of the number and of the handles. */
        int run(long count, long handles) throws Throwable;
    }

    /** A native call that creates an object. */
    @FunctionalInterface
    interface Creation {
        /** Makes the call with the address of the new handle. */
        int run(long handle) throws Throwable;
    }

    /**
     * Loads the loader. It stays loaded until the process ends.
     *
     * @param library the name of the shared library, such as {@code libze_loader.so.1}
     * @throws IllegalArgumentException if there is no such library
     */
    public static ZeLibrary load(String library) {
        return new ZeLibrary(SymbolLookup.libraryLookup(library, Arena.global()));
    }

    /**
     * Returns a function that returns a status.
     *
     * @throws java.util.NoSuchElementException if the loader does not have it
     */
    MethodHandle function(String name, MemoryLayout... parameters) {
        return Linker.nativeLinker()
                .downcallHandle(
                        symbols.findOrThrow(name), FunctionDescriptor.of(JAVA_INT, parameters));
    }

    /**
     * Makes a call.
     *
     * @param name the name of the function in messages
     * @throws DriverException if the status is not success
     */
    static void check(String name, Call call) {
        int status = status(name, call);
        if (status != SUCCESS) {
            throw failure(name, status);
        }
    }

    /** Makes a call and returns its status. */
    static int status(String name, Call call) {
        try {
            return call.run();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) { // a method handle of a native function throws none
            throw new IllegalStateException(name + " could not be called", e);
        }
    }

    /** Returns the exception for a status. */
    static DriverException failure(String name, int status) {
        return new DriverException(name + " failed with " + ZeStatus.describe(status), status);
    }

    /** Lists handles; none if there are none. */
    static List<Long> list(String name, Listing listing) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            check(name, () -> listing.run(count.address(), 0));
            int room = count.get(JAVA_INT, 0);
            if (room == 0) {
                return List.of();
            }
            MemorySegment handles = arena.allocate(POINTER, room);
            check(name, () -> listing.run(count.address(), handles.address()));
            List<Long> found = new ArrayList<>();
            for (int i = 0; i < Math.min(room, count.get(JAVA_INT, 0)); i++) {
                found.add(handles.getAtIndex(POINTER, i));
            }
            return List.copyOf(found);
        }
    }

    /** Creates an object and returns its handle. */
    static long create(String name, Creation creation) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(POINTER);
            check(name, () -> creation.run(handle.address()));
            long created = handle.get(POINTER, 0);
            if (created == 0) {
                throw new DriverException(name + " has returned no handle", SUCCESS);
            }
            return created;
        }
    }
}
