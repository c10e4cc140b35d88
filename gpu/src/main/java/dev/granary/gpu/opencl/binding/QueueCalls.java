package dev.granary.gpu.opencl.binding;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.lwjgl.opencl.CL10;
import org.lwjgl.opencl.CL11;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Native calls for queues, launches and events. Thread-safe. */
public class QueueCalls extends CheckedCalls {
    public long createQueue(long context, long device) {
        return create(
                "clCreateCommandQueue",
                status -> CL10.nclCreateCommandQueue(context, device, 0, status));
    }

    /** Returns the handle of the queue's context. */
    public long queueContext(long queue) {
        return queueLong(queue, CL10.CL_QUEUE_CONTEXT);
    }

    /** Returns the handle of the queue's device. */
    public long queueDevice(long queue) {
        return queueLong(queue, CL10.CL_QUEUE_DEVICE);
    }

    /** Returns the bits of the queue's properties. */
    public long queueProperties(long queue) {
        return queueLong(queue, CL10.CL_QUEUE_PROPERTIES);
    }

    private long queueLong(long queue, int info) {
        return query(
                        "clGetCommandQueueInfo",
                        (size, value, needed) ->
                                CL10.nclGetCommandQueueInfo(queue, info, size, value, needed))
                .get(JAVA_LONG, 0);
    }

    public void retainQueue(long queue) {
        check("clRetainCommandQueue", CL10.clRetainCommandQueue(queue));
    }

    public void releaseQueue(long queue) {
        check("clReleaseCommandQueue", CL10.clReleaseCommandQueue(queue));
    }

    /**
     * Launches a kernel, waits for its completion, and returns its execution status: 0, or negative
     * after a failure. Commands that others have enqueued later on the same queue are not waited
     * for. If {@code local} is empty, the driver chooses.
     */
    public int launch(long queue, long kernel, List<Long> global, List<Long> local) {
        long event = enqueue(queue, kernel, global, local);
        boolean isComplete = false;
        try {
            int status = waitFor(event);
            isComplete = status == CL10.CL_COMPLETE;
            return status;
        } finally {
            if (isComplete) {
                releaseEvent(event);
            } else {
                releaseLater(event);
            }
        }
    }

    /**
     * Enqueues a kernel, and returns the event of its completion. If {@code local} is empty, the
     * driver chooses.
     */
    public long enqueue(long queue, long kernel, List<Long> global, List<Long> local) {
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
                            0,
                            0,
                            event.address()));
            return event.get(JAVA_LONG, 0);
        }
    }

    private int waitFor(long event) {
        try (Arena arena = Arena.ofConfined()) {
            int status = CL10.nclWaitForEvents(
                    1, arena.allocateFrom(JAVA_LONG, event).address());
            if (status != CL11.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
                check("clWaitForEvents", status);
                return CL10.CL_COMPLETE;
            }
            int execution = query(
                            "clGetEventInfo",
                            (size, value, needed) -> CL10.nclGetEventInfo(
                                    event,
                                    CL10.CL_EVENT_COMMAND_EXECUTION_STATUS,
                                    size,
                                    value,
                                    needed))
                    .get(JAVA_INT, 0);
            return execution < 0 ? execution : status;
        }
    }

    public void releaseEvent(long event) {
        check("clReleaseEvent", CL10.clReleaseEvent(event));
    }

    /**
     * Releases the event of a failed command after a second. PoCL up to 6 locks such an event once
     * more after it has dropped its own reference, and aborts the process if that was the last
     * ({@code pocl_update_event_failed}).
     */
    private void releaseLater(long event) {
        CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS).execute(() -> releaseEvent(event));
    }

    private static long[] array(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }
}
