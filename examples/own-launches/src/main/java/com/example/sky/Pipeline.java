package com.example.sky;

import java.util.ArrayList;
import java.util.List;
import org.lwjgl.opencl.CL10;

/** The eleven steps from a raw image to a finished one. */
final class Pipeline {
    static final int WIDTH = 160;
    static final int HEIGHT = 120;
    static final int PIXELS = WIDTH * HEIGHT;

    private final Device device;
    private final Kernels kernels;
    private final List<Long> buffers = new ArrayList<>();

    private Pipeline(Device device, Kernels kernels) {
        this.device = device;
        this.kernels = kernels;
    }

    /** Processes one image; several threads may do so at once. */
    static float[] process(
            Device device, Kernels kernels, float[] raw, float[] dark, float[] flat) {
        Pipeline pipeline = new Pipeline(device, kernels);
        try {
            return pipeline.process(raw, dark, flat);
        } finally {
            pipeline.buffers.forEach(CL10::clReleaseMemObject);
        }
    }

    private float[] process(float[] raw, float[] dark, float[] flat) {
        long image = step("dark", buffer(raw), buffer(dark));
        image = step("flat", image, buffer(flat));
        image = step("median", image);
        image = step("unsharp", image, step("blur", image), 0.5f);
        image = step("shift", image, 0.25f, 0.75f);
        image = step("mirror", image);
        image = step("stretch", image, 0.1f, 1.2f);
        image = step("curve", image);
        image = step("blend", image, step("sobel", image), 0.25f);
        return device.read(image, PIXELS);
    }

    private long buffer(float[] values) {
        long buffer = device.buffer(values);
        buffers.add(buffer);
        return buffer;
    }

    private long step(String name, long in, Object... more) {
        long out = buffer(new float[PIXELS]);
        List<Object> arguments = new ArrayList<>(List.of(in, out, WIDTH, HEIGHT));
        arguments.addAll(List.of(more));
        kernels.launch(name, WIDTH, HEIGHT, arguments.toArray());
        return out;
    }
}
