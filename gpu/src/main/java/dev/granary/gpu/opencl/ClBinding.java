package dev.granary.gpu.opencl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.nio.charset.StandardCharsets.UTF_8;

import org.lwjgl.opencl.CL10;
import org.lwjgl.opencl.CL11;
import org.lwjgl.opencl.CL12;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * All native calls of this package, with status checks: a failure throws an {@link OpenClException}
 * with call and code. Handles are {@code long} and never 0. Not final, so that tests can observe
 * the calls.
 */
class ClBinding {
    private static final int PLATFORM_NOT_FOUND_KHR = -1001;

    List<Long> platforms() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            int status = CL10.nclGetPlatformIDs(0, 0, count.address());
            int found = count.get(JAVA_INT, 0);
            if (status == PLATFORM_NOT_FOUND_KHR || found == 0) {
                return List.of();
            }
            check("clGetPlatformIDs", status);
            MemorySegment ids = arena.allocate(JAVA_LONG, found);
            check("clGetPlatformIDs", CL10.nclGetPlatformIDs(found, ids.address(), 0));
            return longs(ids);
        }
    }

    List<Long> devices(long platform) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            int status =
                    CL10.nclGetDeviceIDs(platform, CL10.CL_DEVICE_TYPE_ALL, 0, 0, count.address());
            int found = count.get(JAVA_INT, 0);
            if (status == CL10.CL_DEVICE_NOT_FOUND || found == 0) {
                return List.of();
            }
            check("clGetDeviceIDs", status);
            MemorySegment ids = arena.allocate(JAVA_LONG, found);
            check(
                    "clGetDeviceIDs",
                    CL10.nclGetDeviceIDs(
                            platform, CL10.CL_DEVICE_TYPE_ALL, found, ids.address(), 0));
            return longs(ids);
        }
    }

    /** Splits a device into sub-devices of that many compute units each. */
    List<Long> equalSubDevices(long device, int computeUnits) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment properties = arena.allocateFrom(
                    JAVA_LONG, CL12.CL_DEVICE_PARTITION_EQUALLY, computeUnits, 0);
            MemorySegment count = arena.allocate(JAVA_INT);
            check(
                    "clCreateSubDevices",
                    CL12.nclCreateSubDevices(device, properties.address(), 0, 0, count.address()));
            MemorySegment ids = arena.allocate(JAVA_LONG, count.get(JAVA_INT, 0));
            check(
                    "clCreateSubDevices",
                    CL12.nclCreateSubDevices(
                            device,
                            properties.address(),
                            count.get(JAVA_INT, 0),
                            ids.address(),
                            0));
            return longs(ids);
        }
    }

    /** Returns the device that this one is a part of; 0 for a main device. */
    long parentDevice(long device) {
        return deviceLong(device, CL12.CL_DEVICE_PARENT_DEVICE);
    }

    /** Retains a sub-device. */
    void retainDevice(long device) {
        check("clRetainDevice", CL12.clRetainDevice(device));
    }

    /** Releases a sub-device. */
    void releaseDevice(long device) {
        check("clReleaseDevice", CL12.clReleaseDevice(device));
    }

    String platformText(long platform, int info) {
        return text(
                "clGetPlatformInfo",
                (size, value, needed) ->
                        CL10.nclGetPlatformInfo(platform, info, size, value, needed));
    }

    String deviceText(long device, int info) {
        return text(
                "clGetDeviceInfo",
                (size, value, needed) -> CL10.nclGetDeviceInfo(device, info, size, value, needed));
    }

    int deviceInt(long device, int info) {
        return query(
                        "clGetDeviceInfo",
                        (size, value, needed) ->
                                CL10.nclGetDeviceInfo(device, info, size, value, needed))
                .get(JAVA_INT, 0);
    }

    long deviceLong(long device, int info) {
        return query(
                        "clGetDeviceInfo",
                        (size, value, needed) ->
                                CL10.nclGetDeviceInfo(device, info, size, value, needed))
                .get(JAVA_LONG, 0);
    }

    /** Returns a list of numbers. */
    List<Long> deviceLongs(long device, int info) {
        return longs(query(
                "clGetDeviceInfo",
                (size, value, needed) -> CL10.nclGetDeviceInfo(device, info, size, value, needed)));
    }

    long createContext(long device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            MemorySegment devices = arena.allocateFrom(JAVA_LONG, device);
            return checked(
                    "clCreateContext",
                    CL10.nclCreateContext(0, 1, devices.address(), 0, 0, status.address()),
                    status);
        }
    }

    void retainContext(long context) {
        check("clRetainContext", CL10.clRetainContext(context));
    }

    void releaseContext(long context) {
        check("clReleaseContext", CL10.clReleaseContext(context));
    }

    long createQueue(long context, long device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            return checked(
                    "clCreateCommandQueue",
                    CL10.nclCreateCommandQueue(context, device, 0, status.address()),
                    status);
        }
    }

    /** Returns the handle of the queue's context. */
    long queueContext(long queue) {
        return queueLong(queue, CL10.CL_QUEUE_CONTEXT);
    }

    /** Returns the handle of the queue's device. */
    long queueDevice(long queue) {
        return queueLong(queue, CL10.CL_QUEUE_DEVICE);
    }

    /** Returns the bits of the queue's properties. */
    long queueProperties(long queue) {
        return queueLong(queue, CL10.CL_QUEUE_PROPERTIES);
    }

    private static long queueLong(long queue, int info) {
        return query(
                        "clGetCommandQueueInfo",
                        (size, value, needed) ->
                                CL10.nclGetCommandQueueInfo(queue, info, size, value, needed))
                .get(JAVA_LONG, 0);
    }

    void retainQueue(long queue) {
        check("clRetainCommandQueue", CL10.clRetainCommandQueue(queue));
    }

    void flush(long queue) {
        check("clFlush", CL10.clFlush(queue));
    }

    void releaseQueue(long queue) {
        check("clReleaseCommandQueue", CL10.clReleaseCommandQueue(queue));
    }

    long createProgramWithSource(long context, List<String> sources) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            MemorySegment texts = arena.allocate(ADDRESS, sources.size());
            MemorySegment lengths = arena.allocate(JAVA_LONG, sources.size());
            for (int i = 0; i < sources.size(); i++) {
                byte[] bytes = sources.get(i).getBytes(UTF_8);
                // a length of 0 means: up to the first NUL
                MemorySegment terminated = arena.allocate(bytes.length + 1L);
                terminated.copyFrom(MemorySegment.ofArray(bytes));
                texts.setAtIndex(ADDRESS, i, terminated);
                lengths.setAtIndex(JAVA_LONG, i, bytes.length);
            }
            return checked(
                    "clCreateProgramWithSource",
                    CL10.nclCreateProgramWithSource(
                            context,
                            sources.size(),
                            texts.address(),
                            lengths.address(),
                            status.address()),
                    status);
        }
    }

    /** Creates a program from verified bytes: drivers abort the process on damaged ones. */
    long createProgramWithBinary(long context, long device, MemorySegment binary) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            MemorySegment binaryStatus = arena.allocate(JAVA_INT);
            MemorySegment bytes = binary.isNative()
                    ? binary
                    : arena.allocateFrom(JAVA_BYTE, binary, JAVA_BYTE, 0, binary.byteSize());
            MemorySegment devices = arena.allocateFrom(JAVA_LONG, device);
            MemorySegment lengths = arena.allocateFrom(JAVA_LONG, binary.byteSize());
            MemorySegment binaries = arena.allocateFrom(JAVA_LONG, bytes.address());
            long program = CL10.nclCreateProgramWithBinary(
                    context,
                    1,
                    devices.address(),
                    lengths.address(),
                    binaries.address(),
                    binaryStatus.address(),
                    status.address());
            checked("clCreateProgramWithBinary", program, status);
            if (binaryStatus.get(JAVA_INT, 0) != CL10.CL_SUCCESS) {
                releaseProgram(program);
            }
            check("clCreateProgramWithBinary (the device's binary)", binaryStatus.get(JAVA_INT, 0));
            return program;
        } finally {
            Reference.reachabilityFence(binary); // the driver has read it by now
        }
    }

    /**
     * Builds a program. Returns false if sources, options or binaries are at fault; the build log
     * has the reason.
     */
    boolean buildProgram(long program, long device, String options) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment devices = arena.allocateFrom(JAVA_LONG, device);
            int status = CL10.nclBuildProgram(
                    program, 1, devices.address(), arena.allocateFrom(options).address(), 0, 0);
            if (status == CL10.CL_BUILD_PROGRAM_FAILURE
                    || status == CL10.CL_INVALID_BUILD_OPTIONS) {
                return false;
            }
            check("clBuildProgram", status);
            return true;
        }
    }

    String buildLog(long program, long device) {
        return text(
                "clGetProgramBuildInfo",
                (size, value, needed) -> CL10.nclGetProgramBuildInfo(
                        program, device, CL10.CL_PROGRAM_BUILD_LOG, size, value, needed));
    }

    /**
     * Returns the program's binary for that device. The first call may compile, and in some drivers
     * fixes the binary.
     */
    MemorySegment programBinary(long program, long device) {
        List<Long> sizes = longs(query(
                "clGetProgramInfo",
                (size, value, needed) -> CL10.nclGetProgramInfo(
                        program, CL10.CL_PROGRAM_BINARY_SIZES, size, value, needed)));
        List<MemorySegment> binaries = sizes.stream()
                .map(size -> Arena.ofAuto().allocate(Math.max(1, size)).asSlice(0, size))
                .toList();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pointers = arena.allocateFrom(
                    JAVA_LONG,
                    binaries.stream().mapToLong(MemorySegment::address).toArray());
            check(
                    "clGetProgramInfo",
                    CL10.nclGetProgramInfo(
                            program,
                            CL10.CL_PROGRAM_BINARIES,
                            pointers.byteSize(),
                            pointers.address(),
                            0));
        } finally {
            Reference.reachabilityFence(binaries); // the driver has written them by now
        }
        return binaries.size() == 1
                ? binaries.getFirst()
                : binaryOf(device, programDevices(program), binaries);
    }

    /** Returns the handles of the program's devices, in the order of its binaries. */
    private static List<Long> programDevices(long program) {
        return longs(query(
                "clGetProgramInfo",
                (size, value, needed) -> CL10.nclGetProgramInfo(
                        program, CL10.CL_PROGRAM_DEVICES, size, value, needed)));
    }

    /** Selects a binary of a program in a context of several devices. */
    private static MemorySegment binaryOf(
            long device, List<Long> devices, List<MemorySegment> binaries) {
        int index = devices.indexOf(device);
        if (index < 0 || index >= binaries.size()) {
            throw new OpenClException(
                    "clGetProgramInfo (the device's binary)", CL10.CL_INVALID_DEVICE);
        }
        return binaries.get(index);
    }

    void releaseProgram(long program) {
        check("clReleaseProgram", CL10.clReleaseProgram(program));
    }

    long createKernel(long program, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            long kernel = CL10.nclCreateKernel(
                    program, arena.allocateFrom(name).address(), status.address());
            return checked("clCreateKernel(" + name + ")", kernel, status);
        }
    }

    List<Long> createKernels(long program) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            check(
                    "clCreateKernelsInProgram",
                    CL10.nclCreateKernelsInProgram(program, 0, 0, count.address()));
            int kernels = count.get(JAVA_INT, 0);
            if (kernels == 0) {
                return List.of();
            }
            MemorySegment ids = arena.allocate(JAVA_LONG, kernels);
            check(
                    "clCreateKernelsInProgram",
                    CL10.nclCreateKernelsInProgram(program, kernels, ids.address(), 0));
            return longs(ids);
        }
    }

    String kernelName(long kernel) {
        return text(
                "clGetKernelInfo",
                (size, value, needed) -> CL10.nclGetKernelInfo(
                        kernel, CL10.CL_KERNEL_FUNCTION_NAME, size, value, needed));
    }

    int kernelArguments(long kernel) {
        return query(
                        "clGetKernelInfo",
                        (size, value, needed) -> CL10.nclGetKernelInfo(
                                kernel, CL10.CL_KERNEL_NUM_ARGS, size, value, needed))
                .get(JAVA_INT, 0);
    }

    /** Returns true if the kernel's source requires a work-group size. */
    boolean hasFixedGroup(long kernel, long device) {
        return query(
                                "clGetKernelWorkGroupInfo",
                                (size, value, needed) -> CL10.nclGetKernelWorkGroupInfo(
                                        kernel,
                                        device,
                                        CL10.CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                        size,
                                        value,
                                        needed))
                        .get(JAVA_LONG, 0)
                != 0;
    }

    void releaseKernel(long kernel) {
        check("clReleaseKernel", CL10.clReleaseKernel(kernel));
    }

    /**
     * Sets an argument to {@code size} bytes at {@code address}; if the address is 0, to local
     * memory of that size.
     */
    void setArgument(long kernel, int index, long size, long address) {
        check("clSetKernelArg(" + index + ")", CL10.nclSetKernelArg(kernel, index, size, address));
    }

    /**
     * Launches a kernel and waits for its completion. Commands that others have enqueued later on
     * the same queue are not waited for. If {@code local} is empty, the driver chooses.
     */
    void launch(long queue, long kernel, List<Long> global, List<Long> local) {
        long event = enqueue(queue, kernel, global, local, List.of());
        try {
            waitForEvent(event);
        } catch (OpenClException e) {
            releaseFailedEvent(event);
            throw e;
        }
        releaseEvent(event);
    }

    /**
     * Enqueues a kernel, which starts after the given events, and returns the event of its
     * completion. If {@code local} is empty, the driver chooses.
     */
    long enqueue(
            long queue, long kernel, List<Long> global, List<Long> local, List<Long> waitList) {
        try (Arena arena = Arena.ofConfined()) {
            long localAddress = local.isEmpty()
                    ? 0
                    : arena.allocateFrom(JAVA_LONG, array(local)).address();
            MemorySegment event = arena.allocate(JAVA_LONG);
            check(
                    "clEnqueueNDRangeKernel",
                    CL10.nclEnqueueNDRangeKernel(
                            queue,
                            kernel,
                            global.size(),
                            0,
                            arena.allocateFrom(JAVA_LONG, array(global)).address(),
                            localAddress,
                            waitList.size(),
                            address(arena, waitList),
                            event.address()));
            return event.get(JAVA_LONG, 0);
        }
    }

    /**
     * Enqueues a marker, and returns its event. It completes after the given events; without any,
     * after all earlier commands of the queue.
     */
    long enqueueMarker(long queue, List<Long> waitList) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = arena.allocate(JAVA_LONG);
            check(
                    "clEnqueueMarkerWithWaitList",
                    CL12.nclEnqueueMarkerWithWaitList(
                            queue, waitList.size(), address(arena, waitList), event.address()));
            return event.get(JAVA_LONG, 0);
        }
    }

    /**
     * Waits until the event's command has completed.
     *
     * @throws OpenClException if its execution failed
     */
    void waitForEvent(long event) {
        try (Arena arena = Arena.ofConfined()) {
            int status = CL10.nclWaitForEvents(
                    1, arena.allocateFrom(JAVA_LONG, event).address());
            if (status == CL11.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
                throw OpenClException.ofExecution("A kernel", eventStatus(event));
            }
            check("clWaitForEvents", status);
        }
    }

    /** Returns the execution status: 0 if complete, positive before, negative after a failure. */
    int eventStatus(long event) {
        return query(
                        "clGetEventInfo",
                        (size, value, needed) -> CL10.nclGetEventInfo(
                                event, CL10.CL_EVENT_COMMAND_EXECUTION_STATUS, size, value, needed))
                .get(JAVA_INT, 0);
    }

    void retainEvent(long event) {
        check("clRetainEvent", CL10.clRetainEvent(event));
    }

    void releaseEvent(long event) {
        check("clReleaseEvent", CL10.clReleaseEvent(event));
    }

    /**
     * Releases the event of a failed command after a second. PoCL up to 6 locks such an event once
     * more after it has dropped its own reference, and aborts the process if that was the last
     * ({@code pocl_update_event_failed}).
     */
    void releaseFailedEvent(long event) {
        CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS).execute(() -> releaseEvent(event));
    }

    private static long address(Arena arena, List<Long> handles) {
        return handles.isEmpty()
                ? 0
                : arena.allocateFrom(JAVA_LONG, array(handles)).address();
    }

    long createBuffer(long context, long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            return checked(
                    "clCreateBuffer",
                    CL10.nclCreateBuffer(
                            context, CL10.CL_MEM_READ_WRITE, bytes, 0, status.address()),
                    status);
        }
    }

    /** Creates a buffer that shares a part of another buffer's memory. */
    long createSubBuffer(long buffer, long offset, long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            MemorySegment region = arena.allocateFrom(JAVA_LONG, offset, bytes);
            return checked(
                    "clCreateSubBuffer",
                    CL11.nclCreateSubBuffer(
                            buffer,
                            CL10.CL_MEM_READ_WRITE,
                            CL11.CL_BUFFER_CREATE_TYPE_REGION,
                            region.address(),
                            status.address()),
                    status);
        }
    }

    /** Returns the handle of a memory object's context. */
    long memoryContext(long memory) {
        return memoryInfo(memory, CL10.CL_MEM_CONTEXT).get(JAVA_LONG, 0);
    }

    /** Returns the kind of a memory object, such as {@code CL_MEM_OBJECT_BUFFER}. */
    int memoryType(long memory) {
        return memoryInfo(memory, CL10.CL_MEM_TYPE).get(JAVA_INT, 0);
    }

    /** Returns the size of a memory object in bytes. */
    long memorySize(long memory) {
        return memoryInfo(memory, CL10.CL_MEM_SIZE).get(JAVA_LONG, 0);
    }

    /** Returns true if the memory object is a part of another one. */
    boolean isSubBuffer(long memory) {
        return memoryInfo(memory, CL11.CL_MEM_ASSOCIATED_MEMOBJECT).get(JAVA_LONG, 0) != 0;
    }

    private static MemorySegment memoryInfo(long memory, int info) {
        return query(
                "clGetMemObjectInfo",
                (size, value, needed) ->
                        CL10.nclGetMemObjectInfo(memory, info, size, value, needed));
    }

    void retainBuffer(long buffer) {
        check("clRetainMemObject", CL10.clRetainMemObject(buffer));
    }

    void releaseBuffer(long buffer) {
        check("clReleaseMemObject", CL10.clReleaseMemObject(buffer));
    }

    void readBuffer(long queue, long buffer, MemorySegment into) {
        check(
                "clEnqueueReadBuffer",
                CL10.nclEnqueueReadBuffer(
                        queue, buffer, CL10.CL_TRUE, 0, into.byteSize(), into.address(), 0, 0, 0));
    }

    void writeBuffer(long queue, long buffer, MemorySegment from) {
        check(
                "clEnqueueWriteBuffer",
                CL10.nclEnqueueWriteBuffer(
                        queue, buffer, CL10.CL_TRUE, 0, from.byteSize(), from.address(), 0, 0, 0));
    }

    /** A call of OpenCL that returns a value of variable size, or the size that it needs. */
    private interface Query {
        int get(long size, long value, long neededSize);
    }

    private static String text(String call, Query query) {
        byte[] bytes = query(call, query).toArray(JAVA_BYTE);
        int length = bytes.length;
        while (length > 0 && bytes[length - 1] == 0) {
            length--;
        }
        return new String(bytes, 0, length, UTF_8).strip();
    }

    private static MemorySegment query(String call, Query query) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment needed = arena.allocate(JAVA_LONG);
            check(call, query.get(0, 0, needed.address()));
            MemorySegment value = Arena.ofAuto()
                    .allocate(Math.max(Long.BYTES, needed.get(JAVA_LONG, 0)), Long.BYTES);
            check(call, query.get(needed.get(JAVA_LONG, 0), value.address(), 0));
            return value;
        }
    }

    private static List<Long> longs(MemorySegment segment) {
        List<Long> values = new ArrayList<>();
        for (long value : segment.toArray(JAVA_LONG)) {
            values.add(value);
        }
        return values;
    }

    private static long[] array(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }

    private static long checked(String call, long handle, MemorySegment status) {
        check(call, status.get(JAVA_INT, 0));
        return handle;
    }

    private static void check(String call, int status) {
        if (status != CL10.CL_SUCCESS) {
            throw new OpenClException(call, status);
        }
    }
}
