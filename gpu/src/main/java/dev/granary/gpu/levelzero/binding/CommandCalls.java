package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The calls about immediate command lists. */
public final class CommandCalls {
    private static final int COMMAND_QUEUE_DESC = 0xe;
    private static final int SYNCHRONOUS = 1; // a mode of a queue

    private final MethodHandle createImmediate;
    private final MethodHandle destroyList;
    private final MethodHandle appendLaunch;
    private final MethodHandle appendCopy;

    /** Finds the functions in the loader. */
    public CommandCalls(ZeLibrary library) {
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
