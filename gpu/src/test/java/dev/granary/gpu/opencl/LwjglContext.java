package dev.granary.gpu.opencl;

import dev.granary.gpu.opencl.binding.ClBinding;

import org.lwjgl.PointerBuffer;
import org.lwjgl.opencl.CL10;
import org.lwjgl.opencl.CL11;
import org.lwjgl.opencl.CL12;
import org.lwjgl.system.MemoryStack;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.List;

/** A context with queues as an application creates them, by calls of LWJGL alone. */
public final class LwjglContext implements AutoCloseable {
    final long context;
    final long device;
    final long queue;
    private final int references;

    private LwjglContext(List<Long> devices, boolean outOfOrder) {
        this.device = devices.getFirst();
        try (MemoryStack stack = MemoryStack.stackPush()) {
            PointerBuffer all = stack.mallocPointer(devices.size());
            devices.forEach(all::put);
            IntBuffer status = stack.mallocInt(1);
            context = CL10.clCreateContext((PointerBuffer) null, all.flip(), null, 0, status);
            check(status.get(0));
        }
        this.queue = queueOn(device, outOfOrder);
        this.references = queueReferences(queue) + contextReferences(context);
    }

    /** Creates a context of PoCL's device with a queue in order. */
    public static LwjglContext inOrder() {
        return new LwjglContext(List.of(PoclDevice.get().handle()), false);
    }

    static LwjglContext outOfOrder() {
        return new LwjglContext(List.of(PoclDevice.get().handle()), true);
    }

    static LwjglContext on(long... devices) {
        return new LwjglContext(Arrays.stream(devices).boxed().toList(), false);
    }

    long queueOn(long onDevice, boolean outOfOrder) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            IntBuffer status = stack.mallocInt(1);
            long created = CL10.clCreateCommandQueue(
                    context,
                    onDevice,
                    outOfOrder ? CL10.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0,
                    status);
            check(status.get(0));
            return created;
        }
    }

    OpenClEngine wrap() {
        return OpenClEngine.wrap(context, device, queue);
    }

    OpenClEngine wrap(ClBinding binding) {
        return OpenClEngine.wrap(context, device, queue, binding);
    }

    /** A user event of the application, for which commands wait until it is opened. */
    final class Gate implements AutoCloseable {
        final long event;
        private boolean isOpen;

        private Gate() {
            try (MemoryStack stack = MemoryStack.stackPush()) {
                IntBuffer status = stack.mallocInt(1);
                event = CL11.clCreateUserEvent(context, status);
                check(status.get(0));
            }
        }

        void open() {
            set(CL10.CL_COMPLETE);
        }

        /** Lets the event fail. */
        void fail() {
            set(-7);
        }

        private void set(int status) {
            isOpen = true;
            check(CL11.clSetUserEventStatus(event, status));
        }

        /** Opens it, so that after a failed test no engine waits for it, and releases the event. */
        @Override
        public void close() {
            if (!isOpen) {
                open();
            }
            release(event);
        }
    }

    Gate gate() {
        return new Gate();
    }

    /** Enqueues a marker that waits for the gate, and returns its event. */
    long marker(Gate gate) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            PointerBuffer event = stack.mallocPointer(1);
            check(CL12.clEnqueueMarkerWithWaitList(queue, stack.pointers(gate.event), event));
            return event.get(0);
        }
    }

    long buffer(long bytes) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            IntBuffer status = stack.mallocInt(1);
            long buffer = CL10.clCreateBuffer(context, CL10.CL_MEM_READ_WRITE, bytes, status);
            check(status.get(0));
            return buffer;
        }
    }

    /** Enqueues a transfer into the buffer, and returns its event. The memory must stay valid. */
    long write(long buffer, FloatBuffer from) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            PointerBuffer event = stack.mallocPointer(1);
            check(CL10.clEnqueueWriteBuffer(queue, buffer, false, 0, from, null, event));
            return event.get(0);
        }
    }

    /** Reads the buffer after the given event, if it is not 0. */
    float[] read(long buffer, int count, long after) {
        FloatBuffer into = ByteBuffer.allocateDirect(4 * count)
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
        try (MemoryStack stack = MemoryStack.stackPush()) {
            PointerBuffer waitList = after == 0 ? null : stack.pointers(after);
            check(CL10.clEnqueueReadBuffer(queue, buffer, true, 0, into, waitList, null));
        }
        float[] values = new float[count];
        into.get(values);
        return values;
    }

    /** Launches a kernel of an input and an output by calls of LWJGL alone. */
    public float[] run(long program, String kernel, float[] input) {
        return run(context, queue, program, kernel, input);
    }

    static float[] run(long context, long queue, long program, String kernel, float[] input) {
        float[] output = new float[input.length];
        try (MemoryStack stack = MemoryStack.stackPush()) {
            int[] status = {0};
            long created = CL10.clCreateKernel(program, kernel, status);
            check(status[0]);
            long in = CL10.clCreateBuffer(context, CL10.CL_MEM_COPY_HOST_PTR, input, status);
            check(status[0]);
            long out = CL10.clCreateBuffer(context, CL10.CL_MEM_COPY_HOST_PTR, output, status);
            check(status[0]);
            check(CL10.clSetKernelArg1p(created, 0, in));
            check(CL10.clSetKernelArg1p(created, 1, out));
            check(CL10.clEnqueueNDRangeKernel(
                    queue,
                    created,
                    1,
                    null,
                    stack.pointers(input.length),
                    stack.pointers(16),
                    null,
                    null));
            check(CL10.clEnqueueReadBuffer(queue, out, true, 0, output, null, null));
            check(CL10.clReleaseMemObject(in));
            check(CL10.clReleaseMemObject(out));
            check(CL10.clReleaseKernel(created));
        }
        return output;
    }

    /** Releases a reference to a program. */
    public static void releaseProgram(long program) {
        check(CL10.clReleaseProgram(program));
    }

    /** Returns the number of references to a program. */
    static int programReferences(long program) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            IntBuffer count = stack.mallocInt(1);
            check(CL10.clGetProgramInfo(program, CL10.CL_PROGRAM_REFERENCE_COUNT, count, null));
            return count.get(0);
        }
    }

    /** Returns the number of references to context and queue beyond those at the start. */
    int retainedByOthers() {
        return queueReferences(queue) + contextReferences(context) - references;
    }

    private static int queueReferences(long queue) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            IntBuffer count = stack.mallocInt(1);
            check(CL10.clGetCommandQueueInfo(queue, CL10.CL_QUEUE_REFERENCE_COUNT, count, null));
            return count.get(0);
        }
    }

    private static int contextReferences(long context) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            IntBuffer count = stack.mallocInt(1);
            check(CL10.clGetContextInfo(context, CL10.CL_CONTEXT_REFERENCE_COUNT, count, null));
            return count.get(0);
        }
    }

    static void release(long event) {
        check(CL10.clReleaseEvent(event));
    }

    static void check(int status) {
        if (status != CL10.CL_SUCCESS) {
            throw new AssertionError("OpenCL returned " + status);
        }
    }

    /** Releases the application's references. */
    @Override
    public void close() {
        check(CL10.clReleaseCommandQueue(queue));
        check(CL10.clReleaseContext(context));
    }
}
