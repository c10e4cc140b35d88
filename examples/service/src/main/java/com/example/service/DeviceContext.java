package com.example.service;

import java.nio.IntBuffer;
import org.lwjgl.PointerBuffer;
import org.lwjgl.opencl.CL10;
import org.lwjgl.system.Configuration;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.system.Platform;

/**
 * The service's own OpenCL context and queue, on the first device. LWJGL creates them; other code
 * of the service may use them as well.
 */
final class DeviceContext implements AutoCloseable {
    private final long device;
    private final long context;
    private final long queue;

    DeviceContext() {
        if (Platform.get() == Platform.LINUX) {
            // LWJGL's default is a name that only development packages install
            Configuration.OPENCL_LIBRARY_NAME.set("libOpenCL.so.1");
        }
        try (MemoryStack stack = MemoryStack.stackPush()) {
            device = firstDevice(stack);
            IntBuffer status = stack.mallocInt(1);
            context = CL10.clCreateContext(
                    (PointerBuffer) null, stack.pointers(device), null, 0, status);
            check("clCreateContext", status.get(0));
            queue = CL10.clCreateCommandQueue(context, device, 0, status);
            check("clCreateCommandQueue", status.get(0));
        }
    }

    private static long firstDevice(MemoryStack stack) {
        IntBuffer count = stack.mallocInt(1);
        check("clGetPlatformIDs", CL10.clGetPlatformIDs(null, count));
        PointerBuffer platforms = stack.mallocPointer(count.get(0));
        check("clGetPlatformIDs", CL10.clGetPlatformIDs(platforms, (IntBuffer) null));
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

    private static void check(String call, int status) {
        if (status != CL10.CL_SUCCESS) {
            throw new IllegalStateException(call + " returned " + status);
        }
    }

    long device() {
        return device;
    }

    long context() {
        return context;
    }

    long queue() {
        return queue;
    }

    /** Releases queue and context; an engine over them keeps what it needs. */
    @Override
    public void close() {
        CL10.clReleaseCommandQueue(queue);
        CL10.clReleaseContext(context);
    }
}
