package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The calls about contexts and the memory in them. */
public final class ContextCalls {
    private static final int CONTEXT_DESC = 0xd;
    private static final int DEVICE_MEM_ALLOC_DESC = 0x15;

    /** The alignment of memory in bytes, enough for every vector type. */
    private static final long ALIGNMENT = 128;

    private final MethodHandle create;
    private final MethodHandle destroy;
    private final MethodHandle allocate;
    private final MethodHandle free;

    /** Finds the functions in the loader. */
    public ContextCalls(ZeLibrary library) {
        create = library.function("zeContextCreate", POINTER, POINTER, POINTER);
        destroy = library.function("zeContextDestroy", POINTER);
        allocate = library.function(
                "zeMemAllocDevice", POINTER, POINTER, POINTER, POINTER, POINTER, POINTER);
        free = library.function("zeMemFree", POINTER, POINTER);
    }

    /** Creates a context of all devices of a driver. */
    public long create(long driver) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = arena.allocate(24, 8);
            description.set(JAVA_INT, 0, CONTEXT_DESC);
            return ZeLibrary.create("zeContextCreate", context ->
                    (int) create.invokeExact(driver, description.address(), context));
        }
    }

    /** Destroys a context without objects. */
    public void destroy(long context) {
        ZeLibrary.check("zeContextDestroy", () -> (int) destroy.invokeExact(context));
    }

    /** Allocates memory of a device and returns its address. */
    public long allocate(long context, long device, long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = arena.allocate(24, 8);
            description.set(JAVA_INT, 0, DEVICE_MEM_ALLOC_DESC);
            return ZeLibrary.create("zeMemAllocDevice", address -> (int) allocate.invokeExact(
                    context, description.address(), bytes, ALIGNMENT, device, address));
        }
    }

    /** Frees memory that no command uses. */
    public void free(long context, long address) {
        ZeLibrary.check("zeMemFree", () -> (int) free.invokeExact(context, address));
    }
}
