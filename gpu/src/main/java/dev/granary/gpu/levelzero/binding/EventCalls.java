package dev.granary.gpu.levelzero.binding;

import static dev.granary.gpu.levelzero.binding.ZeLibrary.POINTER;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The calls about events and their pools. */
public final class EventCalls {
    private static final int EVENT_POOL_DESC = 0x10;
    private static final int EVENT_DESC = 0x11;
    private static final int HOST_VISIBLE = 1; // a flag of a pool
    private static final int HOST_SCOPE = 4;

    private final MethodHandle createPool;
    private final MethodHandle destroyPool;
    private final MethodHandle create;
    private final MethodHandle destroy;
    private final MethodHandle synchronize;
    private final MethodHandle reset;

    /** Finds the functions in the loader. */
    public EventCalls(ZeLibrary library) {
        createPool =
                library.function("zeEventPoolCreate", POINTER, POINTER, JAVA_INT, POINTER, POINTER);
        destroyPool = library.function("zeEventPoolDestroy", POINTER);
        create = library.function("zeEventCreate", POINTER, POINTER, POINTER);
        destroy = library.function("zeEventDestroy", POINTER);
        synchronize = library.function("zeEventHostSynchronize", POINTER, POINTER);
        reset = library.function("zeEventHostReset", POINTER);
    }

    /** Creates a pool of that many events of one device, which the host may wait for. */
    public long createPool(long context, long device, int count) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = arena.allocate(24, 8);
            description.set(JAVA_INT, 0, EVENT_POOL_DESC);
            description.set(JAVA_INT, 16, HOST_VISIBLE);
            description.set(JAVA_INT, 20, count);
            MemorySegment devices = arena.allocateFrom(POINTER, device);
            return ZeLibrary.create("zeEventPoolCreate", pool -> (int) createPool.invokeExact(
                    context, description.address(), 1, devices.address(), pool));
        }
    }

    /** Destroys a pool without events. */
    public void destroyPool(long pool) {
        ZeLibrary.check("zeEventPoolDestroy", () -> (int) destroyPool.invokeExact(pool));
    }

    /** Creates the event at {@code index} of a pool; it is not signalled. */
    public long create(long pool, int index) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment description = arena.allocate(32, 8);
            description.set(JAVA_INT, 0, EVENT_DESC);
            description.set(JAVA_INT, 16, index);
            description.set(JAVA_INT, 20, HOST_SCOPE);
            description.set(JAVA_INT, 24, HOST_SCOPE);
            return ZeLibrary.create("zeEventCreate", event ->
                    (int) create.invokeExact(pool, description.address(), event));
        }
    }

    /** Destroys an event that no command in progress signals. */
    public void destroy(long event) {
        ZeLibrary.check("zeEventDestroy", () -> (int) destroy.invokeExact(event));
    }

    /** Waits until an event is signalled. */
    public void await(long event) {
        ZeLibrary.check("zeEventHostSynchronize", () ->
                (int) synchronize.invokeExact(event, ZeLibrary.WITHOUT_END));
    }

    /** Makes an event not signalled again. */
    public void reset(long event) {
        ZeLibrary.check("zeEventHostReset", () -> (int) reset.invokeExact(event));
    }
}
