package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The calls about immediate command lists. */
public final class CommandCalls {
    private static final int COMMAND_QUEUE_DESC = 0xe;
    private static final int ASYNCHRONOUS = 2; // a mode of a queue

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

    /** Creates an immediate list, whose commands are executed as they are appended. */
    public long createImmediate(long context, long device, int queueGroup) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = arena.allocate(40, 8);
            description.set(JAVA_INT, 0, COMMAND_QUEUE_DESC);
            description.set(JAVA_INT, 16, queueGroup);
            description.set(JAVA_INT, 28, ASYNCHRONOUS);
            return ZeLibrary.create("zeCommandListCreateImmediate", list -> (int)
                    createImmediate.invokeExact(context, device, description.address(), list));
        }
    }

    /** Destroys a list, none of whose commands is in progress. */
    public void destroyList(long list) {
        ZeLibrary.check("zeCommandListDestroy", () -> (int) destroyList.invokeExact(list));
    }

    /**
     * Appends a launch with the kernel's present arguments.
     *
     * @param groups the number of groups
     * @param signal the event that is signalled at the end; 0 for none
     */
    public void appendLaunch(long list, long kernel, GroupShape groups, long signal) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocateFrom(JAVA_INT, groups.x(), groups.y(), groups.z());
            ZeLibrary.check("zeCommandListAppendLaunchKernel", () ->
                    (int) appendLaunch.invokeExact(list, kernel, count.address(), signal, 0, 0L));
        }
    }

    /** Appends a copy of memory of device or host, which signals the event at its end. */
    public void appendCopy(long list, long to, long from, long bytes, long signal) {
        ZeLibrary.check("zeCommandListAppendMemoryCopy", () ->
                (int) appendCopy.invokeExact(list, to, from, bytes, signal, 0, 0L));
    }
}
