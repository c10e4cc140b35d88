package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The calls about command lists and queues. */
public final class CommandCalls {
    private static final int COMMAND_QUEUE_DESC = 0xe;
    private static final int COMMAND_LIST_DESC = 0xf;
    private static final int ASYNCHRONOUS = 2; // a mode of a queue

    private final MethodHandle createImmediate;
    private final MethodHandle createList;
    private final MethodHandle closeList;
    private final MethodHandle destroyList;
    private final MethodHandle createQueue;
    private final MethodHandle execute;
    private final MethodHandle synchronize;
    private final MethodHandle destroyQueue;
    private final MethodHandle appendLaunch;
    private final MethodHandle appendCopy;
    private final MethodHandle appendBarrier;

    /** Finds the functions in the loader. */
    public CommandCalls(ZeLibrary library) {
        createImmediate = library.function(
                "zeCommandListCreateImmediate", POINTER, POINTER, POINTER, POINTER);
        createList = library.function("zeCommandListCreate", POINTER, POINTER, POINTER, POINTER);
        closeList = library.function("zeCommandListClose", POINTER);
        destroyList = library.function("zeCommandListDestroy", POINTER);
        createQueue = library.function("zeCommandQueueCreate", POINTER, POINTER, POINTER, POINTER);
        execute = library.function(
                "zeCommandQueueExecuteCommandLists", POINTER, JAVA_INT, POINTER, POINTER);
        synchronize = library.function("zeCommandQueueSynchronize", POINTER, POINTER);
        destroyQueue = library.function("zeCommandQueueDestroy", POINTER);
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
        appendBarrier =
                library.function("zeCommandListAppendBarrier", POINTER, POINTER, JAVA_INT, POINTER);
    }

    /** Creates an immediate list, whose commands are executed as they are appended. */
    public long createImmediate(long context, long device, int queueGroup) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = queueDescription(arena, queueGroup);
            return ZeLibrary.create("zeCommandListCreateImmediate", list -> (int)
                    createImmediate.invokeExact(context, device, description.address(), list));
        }
    }

    /** Creates a list whose commands are executed by a queue after it was closed. */
    public long createList(long context, long device, int queueGroup) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = arena.allocate(24, 8);
            description.set(JAVA_INT, 0, COMMAND_LIST_DESC);
            description.set(JAVA_INT, 16, queueGroup);
            return ZeLibrary.create("zeCommandListCreate", list ->
                    (int) createList.invokeExact(context, device, description.address(), list));
        }
    }

    /** Ends the recording of a list. */
    public void closeList(long list) {
        ZeLibrary.check("zeCommandListClose", () -> (int) closeList.invokeExact(list));
    }

    /** Destroys a list, none of whose commands is in progress. */
    public void destroyList(long list) {
        ZeLibrary.check("zeCommandListDestroy", () -> (int) destroyList.invokeExact(list));
    }

    /** Creates a queue. */
    public long createQueue(long context, long device, int queueGroup) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = queueDescription(arena, queueGroup);
            return ZeLibrary.create("zeCommandQueueCreate", queue ->
                    (int) createQueue.invokeExact(context, device, description.address(), queue));
        }
    }

    /** Executes a closed list and waits for its end. */
    public void execute(long queue, long list) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment lists = arena.allocateFrom(POINTER, list);
            ZeLibrary.check("zeCommandQueueExecuteCommandLists", () ->
                    (int) execute.invokeExact(queue, 1, lists.address(), 0L));
            ZeLibrary.check("zeCommandQueueSynchronize", () ->
                    (int) synchronize.invokeExact(queue, ZeLibrary.WITHOUT_END));
        }
    }

    /** Destroys a queue without commands in progress. */
    public void destroyQueue(long queue) {
        ZeLibrary.check("zeCommandQueueDestroy", () -> (int) destroyQueue.invokeExact(queue));
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

    /** Appends a barrier: later commands start after earlier ones have ended. */
    public void appendBarrier(long list) {
        ZeLibrary.check("zeCommandListAppendBarrier", () ->
                (int) appendBarrier.invokeExact(list, 0L, 0, 0L));
    }

    private static MemorySegment queueDescription(Arena arena, int queueGroup) {
        MemorySegment description = arena.allocate(40, 8);
        description.set(JAVA_INT, 0, COMMAND_QUEUE_DESC);
        description.set(JAVA_INT, 16, queueGroup);
        description.set(JAVA_INT, 28, ASYNCHRONOUS);
        return description;
    }
}
