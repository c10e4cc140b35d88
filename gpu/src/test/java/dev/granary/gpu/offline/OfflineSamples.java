package dev.granary.gpu.offline;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SampleBinaries;

import java.util.LinkedHashMap;
import java.util.Map;

/** Programs that an offline compiler and a driver compile, by name. */
final class OfflineSamples {
    /** The sample whose options name directories, which differ from build to build. */
    static final String WITH_HEADERS = "headers";

    /** The sample without optimization, for which OpenCL's driver chooses other instructions. */
    static final String UNOPTIMIZED = "sums1";

    private static final String SUMS = """
            #pragma OPENCL EXTENSION cl_khr_fp16 : enable
            kernel void sums(global const float* in, global float* out, local float* tile) {
                int l = get_local_id(0);
                tile[l] = in[get_global_id(0)] / 3.0f + SHIFT;
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int s = get_local_size(0) / 2; s > 0; s /= 2) {
                    if (l < s) {
                        tile[l] += tile[l + s];
                    }
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                if (l == 0) {
                    out[get_group_id(0)] = sin(tile[0]);
                }
            }
            kernel void halves(global half* v) {
                v[get_global_id(0)] *= (half) 2;
            }
            """;

    private OfflineSamples() {}

    /** Returns the programs for a target. The digest stands for a simulated device's variables. */
    static Map<String, KernelDescriptor> of(Target target) {
        Map<String, KernelDescriptor> samples = new LinkedHashMap<>();
        for (String options : new String[] {
            "-DSHIFT=2 -cl-fast-relaxed-math",
            "-DSHIFT=1 -cl-opt-disable",
            "-DSHIFT=1 -cl-std=CL3.0 -cl-mad-enable -cl-fp32-correctly-rounded-divide-sqrt"
        }) {
            String name = "sums" + samples.size();
            samples.put(
                    name,
                    KernelDescriptor.builder(target, name)
                            .source(SUMS)
                            .options(options)
                            .extraDigest("simulated")
                            .build());
        }
        samples.put(
                WITH_HEADERS,
                KernelDescriptor.builder(target, WITH_HEADERS)
                        .source("#include \"factor.clh\"\n")
                        .source("kernel void scale(global int* v) {")
                        .source(" v[get_global_id(0)] *= FACTOR + OTHER; }")
                        .header("factor.clh", "#include <more/other.clh>\n#define FACTOR 3\n")
                        .header("include/more/other.clh", "#define OTHER 5\n")
                        .includeDirectory("include")
                        .extraDigest("simulated")
                        .build());
        samples.put(
                "module",
                KernelDescriptor.builder(target, "module")
                        .spirv(SampleBinaries.bytes("saxpy.spv"))
                        .options("-cl-mad-enable")
                        .extraDigest("simulated")
                        .build());
        return samples;
    }
}
