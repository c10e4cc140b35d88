package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The calls about contexts, and the memory and command lists in them. */
public final class ContextCalls {
    private static final int CONTEXT_DESC = 0xd;
    private static final int DEVICE_MEM_ALLOC_DESC = 0x15;
    private static final int COMMAND_QUEUE_DESC = 0xe;
    private static final int SYNCHRONOUS = 1; // a mode of a queue

    /** The alignment of memory in bytes, enough for every vector type. */
    private static final long ALIGNMENT = 128;

    private final MethodHandle create;
    private final MethodHandle destroy;
    private final MethodHandle allocate;
    private final MethodHandle free;
    private final MethodHandle createImmediate;
    private final MethodHandle destroyList;
    private final MethodHandle appendLaunch;
    private final MethodHandle appendCopy;

    /** Finds the functions in the loader. */
    public ContextCalls(ZeLibrary library) {
        create = library.function("zeContextCreate", POINTER, POINTER, POINTER);
        destroy = library.function("zeContextDestroy", POINTER);
        allocate = library.function(
                "zeMemAllocDevice", POINTER, POINTER, POINTER, POINTER, POINTER, POINTER);
        free = library.function("zeMemFree", POINTER, POINTER);
        createImmediate = library.function(
                "zeCommandListCreateImmediate", POINTER, POINTER, POINTER, POINTER);
        destroyList = library.function("zeCommandListDestroy", POINTER);
        appendLaunch = library.function(
                "zeCommandListAppendLaunchKernel",
                POINTER,
                POINTER,
                POINTER,
                POINTER,
                JAVA_INT,
                POINTER);
        appendCopy = library.function(
                "zeCommandListAppendMemoryCopy",
                POINTER,
                POINTER,
                POINTER,
                POINTER,
                POINTER,
                JAVA_INT,
                POINTER);
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

    /**
     * Creates a synchronous immediate list: a command is executed as it is appended, and the call
     * returns at its end. Only one thread may use it at a time.
     */
    public long createImmediate(long context, long device, int queueGroup) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = arena.allocate(40, 8);
            description.set(JAVA_INT, 0, COMMAND_QUEUE_DESC);
            description.set(JAVA_INT, 16, queueGroup);
            description.set(JAVA_INT, 28, SYNCHRONOUS);
            return ZeLibrary.create("zeCommandListCreateImmediate", list -> (int)
                    createImmediate.invokeExact(context, device, description.address(), list));
        }
    }

    /** Destroys a list, none of whose commands is in progress. */
    public void destroyList(long list) {
        ZeLibrary.check("zeCommandListDestroy", () -> (int) destroyList.invokeExact(list));
    }

    /** Launches that many groups with the kernel's present arguments. */
    public void appendLaunch(long list, long kernel, GroupShape groups) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocateFrom(JAVA_INT, groups.x(), groups.y(), groups.z());
            ZeLibrary.check("zeCommandListAppendLaunchKernel", () ->
                    (int) appendLaunch.invokeExact(list, kernel, count.address(), 0L, 0, 0L));
        }
    }

    /** Copies memory of device or host. */
    public void appendCopy(long list, long to, long from, long bytes) {
        ZeLibrary.check("zeCommandListAppendMemoryCopy", () ->
                (int) appendCopy.invokeExact(list, to, from, bytes, 0L, 0, 0L));
    }
}
