package com.example.sky;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.lwjgl.PointerBuffer;
import org.lwjgl.opencl.CL10;
import org.lwjgl.system.MemoryStack;

/**
 * The programs, and a pool of kernels: a {@code cl_kernel} has arguments, so only one thread at a
 * time may use it. Thread-safe.
 */
final class Kernels implements AutoCloseable {
    /** Makes a {@code cl_program} that the caller releases. */
    interface Builder {
        long build(String name, String source);
    }

    static final List<String> NAMES = List.of(
            "blend", "blur", "curve", "dark", "flat", "median", "mirror", "shift", "sobel",
            "stretch", "unsharp");

    private final Device device;
    private final Builder builder;
    private final Map<String, Long> programs = new ConcurrentHashMap<>();
    private final Map<String, Queue<Long>> idle = new ConcurrentHashMap<>();

    Kernels(Device device, Builder builder) {
        this.device = device;
        this.builder = builder;
    }

    private long program(String name) {
        return programs.computeIfAbsent(name, _ -> builder.build(name, source(name)));
    }

    static String source(String name) {
        try (InputStream in = Kernels.class.getResourceAsStream(name + ".cl")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Launches a kernel over the pixels; arguments are buffers (long), int and float. */
    void launch(String name, int width, int height, Object... arguments) {
        Queue<Long> pool = idle.computeIfAbsent(name, _ -> new ConcurrentLinkedQueue<>());
        Long pooled = pool.poll();
        long kernel = pooled != null ? pooled : create(name);
        try (MemoryStack stack = MemoryStack.stackPush()) {
            for (int i = 0; i < arguments.length; i++) {
                Device.check(
                        switch (arguments[i]) {
                            case Long buffer -> CL10.clSetKernelArg1p(kernel, i, buffer);
                            case Integer value -> CL10.clSetKernelArg1i(kernel, i, value);
                            case Float value -> CL10.clSetKernelArg1f(kernel, i, value);
                            default -> throw new IllegalArgumentException(name + ", " + i);
                        });
            }
            PointerBuffer size = stack.pointers(width, height);
            Device.check(CL10.clEnqueueNDRangeKernel(
                    device.queue(), kernel, 2, null, size, null, null, null));
        } finally {
            pool.add(kernel); // the launch has its own copy of the arguments
        }
    }

    private long create(String name) {
        int[] status = {0};
        long kernel = CL10.clCreateKernel(program(name), name, status);
        Device.check(status[0]);
        return kernel;
    }

    @Override
    public void close() {
        idle.values().forEach(pool -> new ArrayDeque<>(pool).forEach(CL10::clReleaseKernel));
        programs.values().forEach(CL10::clReleaseProgram);
    }
}
