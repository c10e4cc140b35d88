package com.example.sky;

import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import org.lwjgl.PointerBuffer;
import org.lwjgl.opencl.CL10;
import org.lwjgl.system.Configuration;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.system.MemoryUtil;
import org.lwjgl.system.Platform;

/** The first OpenCL device, with a context and one queue in order. */
record Device(long id, long context, long queue) implements AutoCloseable {
    static Device open() {
        if (Platform.get() == Platform.LINUX) {
            // LWJGL's default is a name that only development packages install
            Configuration.OPENCL_LIBRARY_NAME.set("libOpenCL.so.1");
        }
        try (MemoryStack stack = MemoryStack.stackPush()) {
            long device = first(stack);
            IntBuffer status = stack.mallocInt(1);
            long context = CL10.clCreateContext(
                    (PointerBuffer) null, stack.pointers(device), null, 0, status);
            check(status.get(0));
            long queue = CL10.clCreateCommandQueue(context, device, 0, status);
            check(status.get(0));
            return new Device(device, context, queue);
        }
    }

    private static long first(MemoryStack stack) {
        IntBuffer count = stack.mallocInt(1);
        check(CL10.clGetPlatformIDs(null, count));
        PointerBuffer platforms = stack.mallocPointer(count.get(0));
        check(CL10.clGetPlatformIDs(platforms, (IntBuffer) null));
        PointerBuffer devices = stack.mallocPointer(1);
        for (int i = 0; i < platforms.capacity(); i++) {
            // a platform without a device is an error to OpenCL
            if (CL10.clGetDeviceIDs(platforms.get(i), CL10.CL_DEVICE_TYPE_ALL, devices, count)
                    == CL10.CL_SUCCESS) {
                return devices.get(0);
            }
        }
        throw new IllegalStateException("There is no OpenCL device");
    }

    static void check(int status) {
        if (status != CL10.CL_SUCCESS) {
            throw new IllegalStateException("OpenCL returned " + status);
        }
    }

    /** Compiles a program, as each process did before it had a cache. */
    long compile(String name, String source) {
        try (MemoryStack stack = MemoryStack.stackPush()) {
            IntBuffer status = stack.mallocInt(1);
            long program = CL10.clCreateProgramWithSource(context, source, status);
            check(status.get(0));
            if (CL10.clBuildProgram(program, id, "", null, 0) != CL10.CL_SUCCESS) {
                PointerBuffer length = stack.mallocPointer(1);
                check(CL10.clGetProgramBuildInfo(
                        program, id, CL10.CL_PROGRAM_BUILD_LOG, (ByteBuffer) null, length));
                byte[] log = new byte[(int) length.get(0)];
                var memory = MemoryUtil.memAlloc(log.length);
                CL10.clGetProgramBuildInfo(program, id, CL10.CL_PROGRAM_BUILD_LOG, memory, null);
                memory.get(log);
                MemoryUtil.memFree(memory);
                throw new IllegalStateException(name + " does not compile:\n" + new String(log));
            }
            return program;
        }
    }

    /** Creates a buffer with these values. */
    long buffer(float[] values) {
        int[] status = {0};
        long buffer = CL10.clCreateBuffer(context, CL10.CL_MEM_COPY_HOST_PTR, values, status);
        check(status[0]);
        return buffer;
    }

    /** Reads a buffer after all earlier launches. */
    float[] read(long buffer, int count) {
        float[] values = new float[count];
        check(CL10.clEnqueueReadBuffer(queue, buffer, true, 0, values, null, null));
        return values;
    }

    @Override
    public void close() {
        CL10.clReleaseCommandQueue(queue);
        CL10.clReleaseContext(context);
    }
}
