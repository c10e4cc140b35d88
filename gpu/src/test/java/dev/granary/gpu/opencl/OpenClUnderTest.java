package dev.granary.gpu.opencl;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.contract.EngineUnderTest;

/** A device of OpenCL for the contract suites, with a spy on its driver. */
final class OpenClUnderTest implements EngineUnderTest {
    private static final String SOURCE = """
        kernel void add(global const float* a, global const float* b, global float* out) {
            size_t i = get_global_id(0);
            out[i] = a[i] + b[i];
        }
        kernel void scale(global const float* in, global float* out, float factor) {
            out[get_global_id(0)] = in[get_global_id(0)] * factor * EXTRA;
        }
        kernel void reverse(global const float* in, global float* out, local float* tile) {
            int l = get_local_id(0);
            int n = get_local_size(0);
            tile[l] = in[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_group_id(0) * n + l] = tile[n - 1 - l];
        }
        """;

    private final SpyBinding spy = new SpyBinding();

    private final OpenClDevice device;

    OpenClUnderTest(OpenClDevice device) {
        this.device = device;
    }

    @Override
    public Target target() {
        return device.target();
    }

    @Override
    public KernelEngine open() {
        return OpenClEngine.open(device, spy.binding());
    }

    @Override
    public KernelDescriptor.Builder vectors(int extra) {
        return KernelDescriptor.builder(target(), "vectors")
                .source(SOURCE)
                .options("-DEXTRA=" + extra);
    }

    @Override
    public KernelDescriptor.Builder broken() {
        return KernelDescriptor.builder(target(), "broken").source("kernel void k() { nope; }");
    }

    @Override
    public long compiles() {
        return spy.count("createProgramWithSource");
    }

    @Override
    public long liveObjects() {
        return spy.alive().size();
    }
}
